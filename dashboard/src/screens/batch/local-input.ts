// A time as a field for local times wants it.

/** Local time without a zone: `2026-03-20T20:00`. */
export function localInput(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}
