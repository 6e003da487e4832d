// What a job changed and how to take it back: an entry of the undo ledger. A worker reports it with its result, the settlement stores it
// with the attempt, and an undo sends its inverse. A result without one comes from a worker that does not know: its effect is unknown.
import { isObject, type Json, type JsonObject } from '../../base/text/json.ts'
import { holdsMark } from '../runbook/template.ts'

/** A call that takes an effect back. `IfStill` in its parameters is what we set: the function refuses to overwrite anything else. */
export interface UndoCall {
  readonly functionName: string
  readonly parameters: JsonObject
}

export interface ReversibleEffect {
  readonly changed: true
  /** The object that was changed, as people know it. */
  readonly target: string
  /** What was there before; for people. */
  readonly before: JsonObject
  readonly undo: UndoCall
  /** What an undo does not restore. */
  readonly keeps?: string
  /** The names of an object that this created: what else was done to it goes with it. */
  readonly creates?: readonly string[]
}

export interface IrreversibleEffect {
  readonly changed: true
  readonly target: string
  /** Why nothing takes it back. */
  readonly irreversible: string
  /** What was done before it is not undone either, unless a person asks for that. */
  readonly isPointOfNoReturn?: true
}

/** Nothing changed now. `ifEarlier` is the effect of an earlier attempt that ended without an answer: what it created was found. */
interface NoEffect {
  readonly changed: false
  readonly ifEarlier?: ReversibleEffect
}

export type LedgerEffect = NoEffect | ReversibleEffect | IrreversibleEffect

export const NOTHING_CHANGED: LedgerEffect = { changed: false }

/** The parameter with what we set. */
export const IF_STILL = 'IfStill'

/** A message has room for this next to its result. */
export const EFFECT_BYTES_MAX = 32_000

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

const isUndoCall = (value: Json | undefined): boolean =>
  isObject(value) &&
  typeof value.functionName === 'string' &&
  value.functionName !== '' &&
  isObject(value.parameters) &&
  // Only a runbook's text asks for a secret.
  !holdsMark(value.parameters as Json)

/** Null when it is none: the effect is then unknown. */
export function readEffect(value: unknown): LedgerEffect | null {
  if (!isObject(value)) return null
  if (value.changed === false) {
    const earlier = value.ifEarlier === undefined ? null : readEffect(value.ifEarlier)
    return earlier && isReversible(earlier)
      ? { changed: false, ifEarlier: earlier }
      : NOTHING_CHANGED
  }
  if (value.changed !== true || typeof value.target !== 'string') return null
  const hasInverse =
    isObject(value.before) &&
    isUndoCall(value.undo) &&
    (value.keeps === undefined || typeof value.keeps === 'string') &&
    (value.creates === undefined || isTexts(value.creates))
  const isFit = hasInverse || typeof value.irreversible === 'string'
  return isFit ? (value as unknown as LedgerEffect) : null
}

/** What was set, as far as its inverse compares it; null when it does not. */
export const setBy = ({ undo }: ReversibleEffect): JsonObject | null => {
  const still = undo.parameters[IF_STILL]
  return isObject(still) ? (still as JsonObject) : null
}

export const isReversible = (effect: LedgerEffect): effect is ReversibleEffect =>
  effect.changed && 'undo' in effect
