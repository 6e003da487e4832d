// The sandbox's time: the caller decides what clock it is, and tests turn it.

export interface Clock {
  now(): Date
  /** Resolves after this long, or when the signal aborts; it never rejects. */
  wait(ms: number, signal?: AbortSignal): Promise<void>
}
