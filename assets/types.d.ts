/**
 * Shapes of the data that several modules share, for TypeScript's checker alone: nothing of this reaches a browser.
 *
 * What the server sends is described where it is made: traces in `citer_core/trace.py`, messages of a run in
 * `citer_core/ui/messages.py`, pairs and their changes in `citer_core/ui/pair`.
 */

type TokenEvent = import("./run/decision.js").TokenEvent;
type RunFacts = import("./run/decision.js").RunFacts;
type Replay = import("./run/decision.js").Replay;
type ModelSpec = import("./run/cost.js").ModelSpec;
type DeviceSpec = import("./run/cost.js").DeviceSpec;
type Cost = import("./run/cost.js").Cost;
type CostModel = import("./run/cost.js").CostModel;
type RunSeries = import("./run/series.js").RunSeries;
type Totals = ReturnType<RunSeries["totals"]>;
type RunView = import("./run/run_view.js").RunView;
type Viewer = import("./viewer/viewer.js").Viewer;
type Page = import("./app/page.js").Page;
type Truth = import("./viewer/truth.js").Truth;
type BranchEntry = import("./run/branch_book.js").BranchEntry;
type BranchBook = import("./run/branch_book.js").BranchBook;

type Writer = "slm" | "llm";
/** A token that a model offered: id, text, probability. */
type Candidate = [number, string, number];
type FinishReason = "eos" | "length" | "cancelled" | "error";
type Metric = "bytes" | "flops" | "seconds";
type CostLine = "routed" | "slmOnly" | "llmOnly";

type SettingFields = typeof import("./run/trace_schema.js").TRACE_TABLE.required.settings;
/** As in a trace: a setting that is newer than it may be missing. */
type Settings = Record<keyof SettingFields["required"], number> &
  Partial<Record<keyof SettingFields["optional"], number>>;

type Dials = Required<
  Pick<
    Settings,
    "threshold" | "take_back" | "take_back_below" | "take_back_absolute" | "doubt_budget" | "look_every" | "final_doubt"
  >
>;
/** Answers that were right, of `n`, and memory moved for each kept token. */
type Measured = [number, number];
/** What was measured of looking back: when the LLM looks, by how much it then takes back. */
interface Plane {
  router: string;
  final_doubt: number;
  /** 0 for the end alone, then falling */
  budgets: number[];
  ratios: number[];
  /** by data type; `grid` by budget, then by ratio */
  points: Record<string, { n: number; grid: Measured[][]; alone: Record<"slm" | "llm" | "speculative", Measured> }>;
}

/** What a run is asked with, by name, as `citer_core/decode_settings.py` and the server's reader of it have it. */
interface Asked {
  question: string;
  data_type: string;
  router: string | null;
  settings: Settings;
  /** what a person expects; "" or nothing where the page may know it */
  true_answer?: string;
}

interface Prompt {
  data_type: string;
  question: string;
  text: string;
  n_tokens?: number;
  version?: number;
}

interface Answer {
  true_answer: string | null;
  predicted_answer: string | null;
  is_correct: boolean | null;
}

/** A trace without its events. */
interface TraceHead {
  schema?: string;
  schema_version?: number;
  pair: { name: string; revision: string; slm: ModelSpec; llm: ModelSpec };
  router: {
    name: string;
    revision?: string;
    n_params: number;
    reads_llm?: boolean;
    depends_on_writers?: boolean;
    slm_prior?: number | null;
  };
  settings: Settings;
  prompt: Prompt;
  record?: { date: string; hardware: string; version: string };
  answer?: Answer | null;
  title?: string | null;
  parent?: { key: string; fork: number } | null;
}

interface Trace extends TraceHead {
  events: TokenEvent[];
  finish_reason: FinishReason | null;
}

/** What both models say at one token, asked after the run. */
interface ProbedToken {
  slm_top: Candidate[];
  llm_top: Candidate[];
  slm_entropy: number;
  llm_entropy: number;
  kl: number;
  agree: boolean;
}

/** A router at one position; see `citer_core/routing/inside.py`, which says what each number is. */
interface Inside {
  max_probability: number;
  entropy: number;
  margin: number;
  llm_entropy: number | null;
  confidence: number;
  layers: {
    inputs: number[];
    n_state: number;
    gains: number[];
    pushes: number[];
    paths: [number, number, number][];
    logit: number;
  } | null;
}

/** Both models at one position; see `citer_core/routing/next_tokens.py`, which says what each number is. */
interface NextTokens {
  slm: Offer;
  llm: Offer | null;
  typed: [number, string] | null;
  n_typed: number;
}

interface Offer {
  top: Candidate[];
  draw: {
    number: number;
    probabilities: number[];
    n_kept: number;
    kept: number;
    token: Candidate;
    rank: number;
    low: number;
  } | null;
}

/** Which pair and device a run is priced for; what is absent is the run's own. */
interface Pricing {
  slm?: ModelSpec;
  llm?: ModelSpec;
  device?: DeviceSpec;
  routerParams?: number | null;
  label?: string;
}

/** What may be asked of the server about a run, and why a flip may not. */
interface Askable {
  goOn: boolean;
  flip: boolean;
  probe: boolean;
  /** both models' next tokens at a position */
  next: boolean;
  whyNot: string;
}

/** What a request about a run says of it. */
interface RunAbout {
  prompt: Prompt;
  true_answer: string | null;
  pair_name: string;
  pair_revision: string;
}

interface BranchRequest extends RunAbout {
  router: string;
  settings: Settings;
  events: TokenEvent[];
  source: Writer | null;
  token_id: number | null;
  parent: string;
}

interface ProbeRequest extends RunAbout {
  token_ids: number[];
  key: string;
}

/** About one decision: the tokens before it, and whether the LLM wrote the last of them. */
interface InsideRequest extends RunAbout {
  router: string;
  token_ids: number[];
  after_llm: boolean;
}

/** About one position: the tokens before it, how the run chose, and a text to be read as tokens. */
interface NextRequest extends RunAbout {
  token_ids: number[];
  settings: Settings;
  text?: string;
}

/** A pair that is needed, beside a notice. */
interface Needs {
  pair: string | null;
}

interface Notice {
  notice?: string;
  level?: string;
  tone?: string;
  needs?: Needs | null;
}

interface RunEnd {
  finish_reason: FinishReason;
  answer: Answer | null;
  error: string | null;
}

/** A message of a run; see `stream.js`. */
interface RunMessage {
  run: string;
  head?: TraceHead | null;
  base: number;
  tokens: TokenEvent[];
  end?: RunEnd | null;
}

/** What the server says while a run waits in the line. */
interface WaitMessage extends Notice {
  run?: string;
  place?: number;
}

interface ProbeMessage extends Notice {
  probe: string | null;
  tokens?: ProbedToken[];
  truth?: Truth | null;
}

/** All that the page is sent; which of the kinds above it is shows in its fields. */
type PageMessage = Partial<RunMessage> & WaitMessage & Partial<ProbeMessage> & { error?: string };

interface PairVariant {
  is_loaded: boolean;
  memory_bytes: number | null;
  peak_bytes: number;
  room: "beside" | "after" | "none";
  converts: boolean;
}

interface PairRow {
  name: string;
  title: string;
  variants: Record<string, PairVariant>;
  n_params: [number, number];
  licences: string[];
  routers: string[];
  is_bundled: boolean;
  is_gated: boolean;
  is_allowed: boolean;
  n_missing: number;
  fetch_bytes: number | null;
}

interface PairList {
  pairs: PairRow[];
  free_bytes: number | null;
  loaded_bytes: number;
  device: string;
  note: string;
  allows_own: boolean;
}

interface PairChange {
  id: string;
  title: string;
  stage: "wait" | "fetch" | "convert" | "load" | "restore" | "done" | "failed";
  message: string;
  is_over: boolean;
  is_cancelling: boolean;
  n_runs: number;
  done: number;
  total: number | null;
}

interface EngineStatus {
  revision?: string;
  state: string;
  message: string;
  generation?: number;
  pair?: string | null;
  change?: PairChange | null;
  picker?: { on: boolean; why?: string };
  problems?: string[];
  thresholds?: Record<string, number>;
  default_router?: string;
  llm_is_here?: boolean;
  will_retry?: boolean;
}

type Transport = import("./transport/server.js").Transport;

/** What the document holds for the page's script (`citer_core/ui/document.py`). */
interface PageProps {
  pair: string;
  pricing: { device: DeviceSpec; own: string; pairs: (Pricing & { label: string })[] };
  browser_pair: import("./transport/engine_client.js").PairFacts | null;
  comparisons: import("./compare/compare.js").StoredProblem[];
  labels: import("./labels/labels.js").StoredLabels[];
  profiles: string[];
  may_measure: boolean;
  /** address of plotly.js; a page in one file has none, and no charts */
  plotly: string;
  /** of a server: the names that it answers to */
  offers?: string[];
  /** of a page made of files: addresses of messages by what is asked, words on the pair, the service worker's script */
  stored?: Record<string, string>;
  about: string;
  chances: Record<string, string>;
  recorded: { question: string; kind: string }[];
  worker?: string;
}

/** The little of plotly.js that is used. */
interface PlotlyLibrary {
  react(place: HTMLElement, data: object[], layout: object, config: object): Promise<unknown>;
  relayout(place: HTMLElement, layout: object): Promise<unknown>;
}

interface Figure {
  data: object[];
  layout: Record<string, unknown>;
}

/** Colours of the page's theme, for charts. */
interface ChartPalette {
  text: string;
  muted: string;
  rule: string;
  surface: string;
  slm: string;
  llm: string;
  cost: string;
  font: string;
  size: number;
}

interface Window {
  citer?: Page;
  citerOffline?: Viewer;
  Plotly?: PlotlyLibrary;
}

declare var citer: Page | undefined;
/** Of the static site's service worker: its files, and the name of their edition. */
declare const FILES: { first: string[]; later: string[] };
declare const EDITION: string;
declare var Plotly: PlotlyLibrary | undefined;
