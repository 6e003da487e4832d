// The server's clock. Every answer says its time and how fast it passes (20 times as fast in the demonstration, not at all in a test);
// in between the page keeps counting at that rate. A viewer's own clock may be wrong by minutes.
const TIME = 'x-matoolkit-time'
const RATE = 'x-matoolkit-time-rate'
/** Answers take a while to arrive: smaller differences would only make a countdown tremble. */
const TOLERANCE_MS = 1_000

let knownMs = Date.now()
let knownAt = performance.now()
let rate = 1
let onJump = () => {}

export const serverNow = (): number => knownMs + (performance.now() - knownAt) * rate

/** Calls back when the clock is another than expected: it was set, skipped ahead, or is known for the first time. */
export function watchServerClock(jumped: () => void): void {
  onJump = jumped
}

export function followServerClock(headers: Headers): void {
  const ms = Date.parse(headers.get(TIME) ?? '')
  const told = Number(headers.get(RATE) ?? 1)
  if (Number.isNaN(ms) || !Number.isFinite(told)) return
  if (told === rate && Math.abs(ms - serverNow()) <= TOLERANCE_MS * rate) return
  knownMs = ms
  knownAt = performance.now()
  rate = told
  onJump()
}
