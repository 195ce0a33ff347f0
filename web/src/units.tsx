// The audit: which units crash-loop, failed, leak, or do not belong on this kind of host.
import type { JSX } from "preact";
import { path, useApi } from "./api";
import { count } from "./time";
import type { UnitRow, Units } from "./types";
import { Await, Empty, EvidenceList, Table, Unknowns, text, type Column } from "./ui";

const COLUMNS: Column<UnitRow>[] = [
  { head: "unit", main: true, style: "mono", cell: (u) => u.unit },
  { head: "state", cell: (u) => (u.crash_loop ? <span class="sev crit">crash loop</span> : u.active === "failed" ? <span class="sev warn">failed</span> : <span class="sev info">{u.active ?? "unknown"}</span>) },
  { head: "restarts", num: true, cell: (u) => (u.restarts === undefined ? "–" : count(u.restarts)) },
  { head: "per hour", num: true, cell: (u) => (u.restarts_per_hour === undefined ? "–" : count(Math.round(u.restarts_per_hour * 10) / 10)) },
  { head: "enabled", cell: (u) => u.enabled ?? "–" },
  { head: "belongs here", cell: (u) => (u.fits === "no" ? <span class="sev warn">no</span> : (u.fits ?? "unknown")) },
  { head: "leaks", style: "text", cell: (u) => (u.leaks === undefined ? "–" : text(u.leaks)) },
  { head: "why", style: "text wide", cell: (u) => <>{u.why}{u.action ? <> <span class="dim">{u.action}</span></> : null}{u.evidence?.length ? <details><summary>evidence</summary><EvidenceList list={u.evidence} /></details> : null}</> },
];

export function UnitsView(props: { version: number }): JSX.Element {
  const units = useApi<Units>(path("units"), Math.floor(props.version / 10));
  return (
    <section class="panel" aria-label="units">
      <h2>Units and containers</h2>
      <Await of={units} height={320}>
        {(data) => (
          <>
            {typeof data.shape === "string" && <p class="dim">This host looks like: {data.shape}</p>}
            {data.units.length
              ? <Table label="table of units" columns={COLUMNS} rows={data.units} />
              : <Empty title="No unit stands out">None crash-loops, failed, or is out of place in this recording.</Empty>}
            <Unknowns list={data.unknown} />
          </>
        )}
      </Await>
    </section>
  );
}
