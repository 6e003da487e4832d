// Which jobs are done together: those of one function that acts on many, whose parameters give the same key. A job that names a secret
// is done alone, because nobody else's call may read it.
import { holdsMark } from '../../../domain/runbook/template.ts'
import type { Catalogue } from '../../functions/catalogue.ts'
import { fitParameters } from '../fit-parameters.ts'
import type { Job } from '../job.ts'
import type { CollectionRule } from './collections.ts'

export interface Companions {
  /** The same for jobs that are done together. */
  readonly key: string
  readonly rule: CollectionRule
}

/** Null for a job that is done alone. */
export function companionsOf(
  { functionName, parameters }: Pick<Job, 'functionName' | 'parameters'>,
  catalogue: Catalogue,
): Companions | null {
  const definition = catalogue.get(functionName.toLowerCase())
  // One that is not idempotent must not be tried again in halves.
  if (!definition?.together || !definition.isIdempotent || holdsMark({ ...parameters })) return null
  const fitted = fitParameters(definition, parameters)
  if ('misfits' in fitted) return null
  const { together } = definition
  try {
    const key = together.key(fitted.params)
    return key === null ? null : { key: `${definition.name}\n${key}`, rule: together }
  } catch {
    // A custom function's mistake: alone, it works as before.
    return null
  }
}
