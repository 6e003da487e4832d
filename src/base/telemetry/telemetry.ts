// Traces and lifecycle events, as the roles tell them. Off is null: nothing is loaded, built or sent. Ids follow from what they stand for,
// so every process computes the same ones, also after a crash, and nothing about a trace is kept in memory.
import { hash } from 'node:crypto'
import { TRACEPARENT } from '../text/reserved-names.ts'

export type Attributes = Readonly<Record<string, string | number | boolean>>

/** A place in a trace, as W3C trace context carries it. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  readonly isSampled: boolean
}

/** An interval of work that has ended. Attributes never name a person, a secret or a value of a parameter. */
export interface TraceSpan {
  readonly context: SpanContext
  /** In the same trace; null for the first. */
  readonly parentId: string | null
  readonly name: string
  readonly kind: 'internal' | 'producer' | 'consumer' | 'client'
  readonly startedAt: Date
  readonly endedAt: Date
  readonly attributes: Attributes
  /** Spans of other traces that caused this one. */
  readonly links?: readonly SpanContext[]
  /** Why it failed: a code, never a sentence. */
  readonly error?: string | null
}

export interface LifecycleEvent {
  readonly name:
    | 'ProcessStarted'
    | 'ProcessStopped'
    | 'WorkerStarted'
    | 'WorkerStopped'
    | 'JobDispatched'
  readonly at: Date
  readonly attributes: Attributes
  /** The span it happened in. */
  readonly context?: SpanContext
}

export interface Telemetry {
  /** `messaging.system` of OpenTelemetry: what carries the messages. */
  readonly messagingSystem: string
  /** Whether this trace is among those that are sent. The same in every process. */
  isSampled(traceId: string): boolean
  /** Takes a span to be sent later. Never waits and never throws; a full queue loses it. */
  span(span: TraceSpan): void
  event(event: LifecycleEvent): void
}

type Part = string | number | null

const digestOf = (parts: readonly Part[]): string => hash('sha256', JSON.stringify(parts))

export const traceIdOf = (...parts: readonly Part[]): string => digestOf(parts).slice(0, 32)

export const spanIdOf = (...parts: readonly Part[]): string => digestOf(parts).slice(0, 16)

export const traceparentOf = ({ traceId, spanId, isSampled }: SpanContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

/** Null for no trace context, and for one that the standard calls invalid. */
export function readTraceparent(text: string | null | undefined): SpanContext | null {
  const found = text ? TRACEPARENT.exec(text) : null
  if (!found) return null
  const [, traceId, spanId, flags] = found as unknown as [string, string, string, string]
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** By the trace id, as OpenTelemetry's TraceIdRatioBased does: every process decides the same. */
export const isTraceSampled = (traceId: string, ratio: number): boolean =>
  Number.parseInt(traceId.slice(-8), 16) < ratio * 2 ** 32
