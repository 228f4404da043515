// Where the first value that is not finite was seen, what was last finite before it, how far it went: as sentences.
// In: block first_non_finite. Out: `Chain`, nothing where every recorded value is finite. Left to neighbours: the rows.
// Where it was first seen need not be where it arose, and the sentence does not say so.

import { useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { href } from "../../state/route";
import { select } from "../../state/selection";
import { count } from "../../ui/format";
import { SqlButton } from "../../ui/sql";
import { printable } from "../../ui/text";
import { Text } from "../../ui/value";
import { notFinite } from "./derive";

export function Chain() {
  const { table } = useTable("first_non_finite");
  if (!table || table.rows === 0) return null;
  return (
    <>
      {Array.from({ length: table.rows }, (_, row) => (
        <Sentence key={row} table={table} row={row} />
      ))}
    </>
  );
}

function Sentence({ table, row }: { table: Table; row: number }) {
  const text = (name: string) => table.string(name, row);
  const number = (name: string) => table.number(name, row);
  const gradient = text("kind") === "gradient";
  const amount = notFinite(number("nan"), number("pos_inf"), number("neg_inf"), number("non_finite"), number("elements"));
  const after = number("affected_after") ?? 0;
  const all = number("facts_after") ?? 0;
  return (
    <section class="chain" aria-label="First value that is not finite">
      <h2>
        <span aria-hidden="true">✕</span> First seen not finite <span class="gap" />
        <SqlButton query="first_non_finite" />
      </h2>
      <p>
        <Label table={table} row={row} /> is the first recorded {gradient ? "gradient" : "summary"} that is not finite
        {amount && <>: {amount}</>}
        <Place name={text("span_name")} id={text("span_id")} before=", in " />
        {text("step") && <> ({printable(text("step")!)})</>}.
        {text("made_by_op") && (
          <>
            {" "}
            Its tensor was put out by <a href={href({ view: "timings", by: "ops", q: text("made_by_op")!, tab: undefined })}>{printable(text("made_by_op")!)}</a>
            <Place name={text("made_by_span_name")} id={text("made_by_span_id")} before=" in " />.
          </>
        )}
      </p>
      <p>
        {text("last_finite_label") ? (
          <>
            Before it <Text text={text("last_finite_label")!} most={60} />
            <Place name={null} id={text("last_finite_span_id")} before=" in span " /> was still finite
            {text("path") === "data_edges"
              ? ", on the path of data that leads to it."
              : "; it was recorded before, and is not known to lead to it."}
          </>
        ) : (
          "No finite summary was recorded before it."
        )}{" "}
        {all > 0 &&
          `Of the ${count(all)} summaries and gradients recorded after it, ${after === 0 ? "none is" : `${count(after)} ${after === 1 ? "is" : "are"}`} not finite.`}
      </p>
    </section>
  );
}

function Label({ table, row }: { table: Table; row: number }) {
  return <Text text={table.string("label", row) ?? "A value"} most={72} sel={select.row("first_non_finite", row)} />;
}

function Place({ name, id, before }: { name: string | null; id: string | null; before: string }) {
  if (!id) return null;
  return (
    <>
      {before}
      <Text text={name ?? id} most={60} sel={select.span(id)} />
    </>
  );
}
