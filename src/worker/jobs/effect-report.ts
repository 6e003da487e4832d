// What a job tells the undo ledger. Only what is known for sure: a repeated job that finds nothing to change may have changed it in its
// earlier delivery, and a before-image that a secret was cut from would write the cut text back.
import { isDeepStrictEqual } from 'node:util'
import type { HiddenSecrets } from '../../base/log/hidden-secrets.ts'
import { isObject, type Json } from '../../base/text/json.ts'
import {
  EFFECT_BYTES_MAX,
  type LedgerEffect,
  NOTHING_CHANGED,
  readEffect,
} from '../../domain/state/effects.ts'
import type { WorkerFunction } from '../functions/catalogue.ts'

/** Null when nobody knows. */
export function effectIn(
  definition: WorkerFunction,
  params: unknown,
  result: Json,
  { isRepeated }: { readonly isRepeated: boolean },
): LedgerEffect | null {
  const effect = reported(definition, params, result)
  if (effect === null) return null
  // Its earlier delivery may have changed it.
  if (!effect.changed && isRepeated && definition.undo !== null) return effect.ifEarlier ?? null
  if (!effect.changed) return effect
  if (Buffer.byteLength(JSON.stringify(effect)) <= EFFECT_BYTES_MAX) return effect
  const irreversible = `What was there before is too large to keep: more than ${EFFECT_BYTES_MAX} bytes.`
  return { changed: true, target: effect.target.slice(0, TARGET_CHARS_MAX), irreversible }
}

const TARGET_CHARS_MAX = 500

function reported(definition: WorkerFunction, params: unknown, result: Json): LedgerEffect | null {
  if (!definition.effectOf) return definition.undo === null ? NOTHING_CHANGED : null
  try {
    // A custom function may return anything. The outputs of a polled function are in `data`.
    const fields =
      isObject(result) && isObject(result.data) && !('Changed' in result) ? result.data : result
    const effect: unknown = JSON.parse(JSON.stringify(definition.effectOf(params, fields)))
    return readEffect(effect)
  } catch {
    return null
  }
}

export function withoutSecrets(effect: LedgerEffect, seen: HiddenSecrets): LedgerEffect {
  const told = effect as unknown as Json
  const hidden = seen.hideIn(told)
  if (isDeepStrictEqual(hidden, told)) return effect
  const target = isObject(hidden) ? String(hidden.target) : ''
  return {
    changed: true,
    target,
    irreversible: 'What was there before holds a secret and was not kept.',
  }
}
