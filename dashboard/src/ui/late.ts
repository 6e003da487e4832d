/** Timers act to the second; a minute later something is wrong. */
const LATE_AFTER_MS = 60_000

export const isLate = (dueAt: string, now: number): boolean =>
  Date.parse(dueAt) < now - LATE_AFTER_MS
