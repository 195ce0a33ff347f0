// The objects of /api/v1 (docs/API.md). Everything that may be unknown is optional: absent is not zero.
export interface Unknown { what: string; why: string }
export interface Envelope { schema: string; host?: string; kernel?: string; time?: string; unknown?: Unknown[] }

export interface Status extends Envelope {
  version: string;
  from_ns?: number;
  to_ns?: number;
  live: boolean;
  cpus?: number;
  profile: boolean;
  losses: { from_ns?: number; to_ns?: number; why: string }[];
}

export interface Overview extends Envelope {
  from_ns: number;
  to_ns: number;
  step_ns: number;
  series: Record<string, (number | null)[]>;
}

export interface EventRow {
  time: string; time_ns: number; end_ns?: number;
  source: string; id: string; severity: string;
  trusted: boolean; injected?: boolean; count?: number; event: string;
  fields?: Record<string, string>;
  text: string;
}
export interface Events extends Envelope { events: EventRow[]; total: number }

// queue → interrupt → core → task: who kept the queue from being served
export interface QueueProof {
  verdict: string; why: string; irq?: number; cpu?: number; from_ns: number; to_ns: number;
  usr?: number; sys?: number; soft?: number; steal?: number; idle?: number;
  tasks: { pid: number; comm: string; cgroup?: string; percent: number }[];
  kernel_path?: string;
  evidence: Evidence[];
}
export interface Reset extends EventRow { queue_proof?: QueueProof; commands?: string[] }
export interface Resets extends Envelope { total: number; resets: Reset[] }

export interface Matrix extends Envelope {
  from_ns: number; step_ns: number; cols: number; mode: string;
  cpus: number[];
  rows: string[]; // base64 of one byte per column: percent, 255 = unknown
}
export interface CoreTimes { [key: string]: number }
export interface CoresAt extends Envelope {
  from_ns: number; time_ns: number; all: CoreTimes; cpus: CoreTimes[]; saturated: number[];
}

export interface Heat extends Envelope { one_second_in?: number; column_s?: number; start_ns: number; seconds: number; rows: number; cols: number; counts: number[][] }

export interface FlameNode { name: string; value: number; delta?: number; children?: FlameNode[] }
export interface Flame extends Envelope {
  samples?: number; lost?: number;
  names?: string[];
  in_kernel?: number[]; // beside names: 1 = a kernel function
  least?: number; // frames with fewer samples are left out
  nodes?: number[]; // preorder, 3 (flame) or 4 (diff) numbers each: name, depth, value, base value
  root?: FlameNode;
  comms?: { name: string; samples: number }[];
  base_samples?: number;
  cpus?: { cpu: number; samples: number }[];
  units?: { name: string; samples: number }[];
  one_second_in?: number; // a long window: only every so many-th second was read
}

export interface Evidence { what: string; value: unknown; unit?: string; source: string; time_ns?: number }
export interface Finding { id?: string; finding?: string; title?: string; text?: string; because?: { how?: string; holds?: string[]; confidence?: number }; proof?: string; injected?: boolean; evidence?: Evidence[]; from_ns?: number; to_ns?: number; event?: string; place?: { cpu?: number; process?: string; unit?: string; nic?: string; queue?: number } }
export interface PlanStep { id: string | number; action: string; target?: string; command?: string; reversible?: boolean; risk?: string; reboot?: boolean; why?: string }
export interface Why extends Envelope {
  verdict?: { id: string; title: string; confidence?: number; culprit?: { kind: string; name: string } };
  chain?: Finding[];
  findings?: Finding[];
  others?: { title: string; confidence?: number; apart?: string; chain?: Finding[] }[];
  plan?: PlanStep[];
  from_ns?: number; to_ns?: number;
}

export interface ZombieGroup { owner: string; kind?: string; unit?: string; container?: string; count: number; bytes?: number; share?: number; created_every_s?: number }
export interface Pin { kind: string; file?: string; device?: string; inode?: number; deleted?: boolean; bytes?: number }
export interface PinFile extends Pin { zombies: number }
export interface Holder { zombies: number; bytes?: number; freed_by?: string }
export interface Zombie { id: number; path: string; owner?: string; bytes?: number; file_bytes?: number; anon_bytes?: number; shmem_bytes?: number; slab_bytes?: number; created?: string; died?: string; creator?: string; pins?: Pin[] }
// Two onsets: so many zombies that the CPU hurts, and so much RAM.
export interface Forecast {
  from_ns: number; to_ns: number; points: number; threshold?: number; basis?: "measured" | "incident" | "none"; measured?: "reads" | "reclaim"; reaches_ns?: number; doubling_hours?: number; reboot_lasts_days?: number;
  ram_bytes_per_day?: number; ram_bytes_now?: number; ram_limit_bytes?: number; ram_reaches_ns?: number;
}
export interface ChurnGroup { owner: string; made: number; removed: number; released?: number; left_behind?: number; every_s?: number; creator?: { comm: string; pid: number; ppid?: number; parent_comm?: string; cgroup?: string; unit?: string } }
export interface Churn { from_ns: number; to_ns: number; lost: number; groups: ChurnGroup[] }
export interface ReclaimPayer { pid: number; comm: string; cgroup?: string; unit?: string; passes: number; total_ns: number; max_ns?: number }
export interface ReclaimGroup { kind: string; cgroup?: number; path?: string; passes: number; times: string; total_ns: number; p50_ns: number; p99_ns: number; max_ns: number; freed_bytes?: number; zombies_below?: number; payers: ReclaimPayer[] }
export interface Reclaim { from_ns: number; to_ns: number; passes: number; lost: number; lost_payers: number; groups: ReclaimGroup[] }
export interface Cost {
  reclaim?: Reclaim; verdict?: string; why?: string; ram_bytes?: number;
  measured_percpu_bytes_per_zombie?: number; measured_slab_bytes_per_zombie?: number; measured_over_zombies?: number;
  expected_percpu_bytes_per_zombie?: number; expected_slab_bytes_per_zombie?: number;
}
export interface Zombies extends Envelope {
  cgroup?: { mode: string; memory?: string };
  tracked?: number; live?: number; dying?: number; ratio?: number; method?: string; bytes?: number;
  groups?: ZombieGroup[]; zombies?: Zombie[]; rate_per_hour?: number;
  forecast?: Forecast;
  churn?: Churn;
  cost?: Cost;
  census_ns?: number;
  files?: PinFile[];
  files_in_all?: number;
  held_by?: Record<string, Holder>;
}

export interface UnitRow {
  unit: string; enabled?: string; active?: string; restarts?: number; restarts_per_hour?: number; crash_loop?: boolean;
  result?: string; fits?: string; why?: string; leaks?: number | boolean; action?: string; evidence?: Evidence[];
}
export interface Units extends Envelope { shape?: unknown; units: UnitRow[] }
