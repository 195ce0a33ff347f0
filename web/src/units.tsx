// The audit: which units crash-loop, failed, leak, or do not belong on this kind of host.
import type { JSX } from "preact";
import { path, useApi } from "./api";
import { count } from "./time";
import type { UnitRow, Units } from "./types";
import { Await, Empty, EvidenceList, Unknowns, text } from "./ui";

function Row(props: { u: UnitRow }): JSX.Element {
  const { u } = props;
  return (
    <tr>
      <td class="mono">{u.unit}</td>
      <td>{u.crash_loop ? <span class="sev crit">crash loop</span> : u.active === "failed" ? <span class="sev warn">failed</span> : <span class="sev info">{u.active ?? "unknown"}</span>}</td>
      <td class="num">{u.restarts === undefined ? "–" : count(u.restarts)}</td>
      <td class="num">{u.restarts_per_hour === undefined ? "–" : count(Math.round(u.restarts_per_hour * 10) / 10)}</td>
      <td>{u.enabled ?? "–"}</td>
      <td>{u.fits === "no" ? <span class="sev warn">no</span> : (u.fits ?? "unknown")}</td>
      <td class="text">{u.leaks === undefined ? "–" : text(u.leaks)}</td>
      <td class="text">{u.why}{u.action ? <> <span class="dim">{u.action}</span></> : null}{u.evidence?.length ? <details><summary>evidence</summary><EvidenceList list={u.evidence} /></details> : null}</td>
    </tr>
  );
}

export function UnitsView(props: { version: number }): JSX.Element {
  const units = useApi<Units>(path("units"), Math.floor(props.version / 10));
  return (
    <section class="panel" aria-label="units">
      <h2>Units and containers</h2>
      <Await of={units} height={320}>
        {(data) => (
          <>
            {typeof data.shape === "string" && <p class="dim">This host looks like: {data.shape}</p>}
            {data.units.length ? (
              <div class="scroll" tabIndex={0} role="region" aria-label="table of units">
                <table><thead><tr><th>unit</th><th>state</th><th class="num">restarts</th><th class="num">per hour</th><th>enabled</th><th>belongs here</th><th>leaks</th><th>why</th></tr></thead>
                  <tbody>{data.units.map((u) => <Row u={u} />)}</tbody></table>
              </div>
            ) : <Empty title="No unit stands out">None crash-loops, failed, or is out of place in this recording.</Empty>}
            <Unknowns list={data.unknown} />
          </>
        )}
      </Await>
    </section>
  );
}
