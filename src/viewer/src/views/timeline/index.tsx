// The Timeline view, until it is drawn: a panel that says so.
// In: nothing. Out: `View`. Left to neighbours: everything.

import { Empty } from "../../ui/panel";

export function View() {
  return <Empty title="Timeline" reason="This view is not drawn yet." />;
}
