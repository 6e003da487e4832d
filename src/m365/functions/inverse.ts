// The parts of an inverse: what a function changed, and the call that takes it back.

import type { JsonObject } from '../../base/text/json.ts'
import {
  type LedgerEffect,
  NOTHING_CHANGED,
  type ReversibleEffect,
} from '../../domain/state/effects.ts'

// biome-ignore lint/suspicious/noExplicitAny: parameters and results have been checked by the function's schemas
export type Fields = any
export type EffectOf = (params: Fields, result: Fields) => LedgerEffect

interface Inverse {
  readonly target: string
  readonly before: JsonObject
  readonly run: string
  readonly with: JsonObject
  readonly keeps?: string | false
  readonly creates?: readonly string[]
}

export const by = ({
  target,
  before,
  run,
  with: parameters,
  keeps,
  creates,
}: Inverse): LedgerEffect => ({
  changed: true,
  target,
  before,
  undo: { functionName: run, parameters },
  ...(keeps ? { keeps } : {}),
  ...(creates ? { creates } : {}),
})

export const never = (target: string, irreversible: string): LedgerEffect => ({
  changed: true,
  target,
  irreversible,
})
export const noReturn = (target: string, irreversible: string): LedgerEffect => ({
  changed: true,
  target,
  irreversible,
  isPointOfNoReturn: true,
})

/** Only if the result says so. */
export const whenChanged =
  (inverse: EffectOf): EffectOf =>
  (params, result) =>
    result.Changed ? inverse(params, result) : NOTHING_CHANGED
export const whenCreated =
  (inverse: EffectOf): EffectOf =>
  (params, result) =>
    result.Created ? inverse(params, result) : NOTHING_CHANGED
/** The same; one that the vault knows was created by an earlier attempt, if that ended without an answer. */
export const whenOwn =
  (inverse: EffectOf): EffectOf =>
  (params, result) => {
    const effect = inverse(params, result) as ReversibleEffect
    if (result.Created) return effect
    return result.PasswordSecret === null ? NOTHING_CHANGED : { changed: false, ifEarlier: effect }
  }

export const listChange = (run: string, list: string, who: string): EffectOf =>
  whenChanged((_, result) =>
    by({
      target: result[who],
      before: {},
      run,
      with: { [who]: result[who], [list]: result[list] },
    }),
  )
