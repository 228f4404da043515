// Which runs the comparison rests on, and the commands that give every number again.
// In: the document. Out: `Runs`, `Numbers`. Left to neighbours: the picture of the runs (picture.tsx).

import { useMemo } from "preact/hooks";
import { compareCommands } from "../../data/origin";
import { useRoute } from "../../state/route";
import { parse, select } from "../../state/selection";
import { Code } from "../../ui/copy";
import { type ColumnSpec, DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";
import { printable, short } from "../../ui/text";
import { Value } from "../../ui/value";
import { type Comparison, dotsOf } from "./document";
import { Key } from "./marks";
import { runTable } from "./tables";

export function Runs({ c }: { c: Comparison }) {
  const [route, go] = useRoute();
  const table = runTable(c);
  const columns = useMemo((): ColumnSpec[] => {
    const dots = dotsOf(c);
    return [
      { name: "run", label: "run" },
      {
        name: "cohort",
        render: (row) => (
          <>
            <Key side={dots[row]!.side} /> {dots[row]!.side}
          </>
        ),
      },
      { name: "pair_id", label: "pair", absent: "not paired" },
      { name: "started_at", label: "started, UTC", render: (row) => printable((dots[row]!.run.started_at ?? "").replace("T", " ").replace(/\.\d+Z?$|Z$/, "")) },
      {
        name: "outer_wall_time_ns",
        label: "wall time",
        render: (row) => (
          <>
            {dots[row]!.apart && <span class="badge warn">apart</span>} <Value v={dots[row]!.run.outer_wall_time_ns} unit="ns" absent="not known: the capture is not sound, or has not exactly one measured region" />
          </>
        ),
      },
      { name: "run_id", label: "run id", render: (row) => <code title={printable(dots[row]!.run.run_id)}>{short(dots[row]!.run.run_id, 34)}</code> },
      {
        name: "manifest_sha256",
        label: "manifest",
        render: (row) => {
          const sha = dots[row]!.run.manifest_sha256;
          return sha === null ? <Value v={null} absent="a raw trace has no bundle that was verified" /> : <code title={printable(sha)}>{printable(sha.slice(0, 12))}</code>;
        },
      },
    ];
  }, [c]);
  const selection = parse(route.sel);
  const how =
    c.verification === "verified_bundles"
      ? "Bundles, verified before they were read. The manifest’s SHA-256 is a bundle’s identity."
      : "Raw traces: nothing proves that they are as they were recorded.";
  return (
    <Panel title="Runs" note={how}>
      <DataTable
        table={table}
        columns={columns}
        label="Runs"
        selected={selection?.kind === "row" && selection.block === table.name ? selection.row : undefined}
        onSelect={(row) => go({ sel: select.row(table.name, row) })}
        maxRows={20}
        what="runs"
      />
    </Panel>
  );
}

export function Numbers() {
  const [whole, labels] = compareCommands("cohort_labels");
  const operations = compareCommands("cohort_ops")[1]!;
  return (
    <Panel title="The numbers">
      <div class="body">
        <p class="soft">Everything that is shown here, and what had no room, as JSON:</p>
        <Code text={whole!} label="command of the comparison" wrap />
        <p class="soft">What each run has of each label and operation, for a notebook or another question:</p>
        <Code text={`${labels}\n${operations}`} label="commands of the rows behind it" wrap />
      </div>
    </Panel>
  );
}
