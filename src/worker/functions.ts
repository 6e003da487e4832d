// What a worker can do: named functions with the parameters they take. The schema is the signature: it refuses what does not fit
// before anything runs, and its JSON Schema is what the worker announces. A function may be run again with the same job id after
// a crash, so it must be idempotent; it stops soon when its signal aborts, and it waits on the clock it is given.
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import type { Json } from '../domain/json.ts'

export interface Call<Params> {
  readonly params: Params
  /** Aborts at the job's deadline, and when the worker must stop. Throw its reason then. */
  readonly signal: AbortSignal
  /** The same when a job is run again; another one for every retry and every poll. */
  readonly jobId: string
  readonly clock: Clock
}

export interface WorkerFunction<Params = unknown> {
  readonly name: string
  readonly description: string
  readonly parameters: z.ZodType<Params>
  /** The result as the runbook sees it. Throwing is failing, and the message is the reason that people read. */
  run(call: Call<Params>): Promise<Json>
}

/** Functions by name, found without regard to case, as the PowerShell workers of old did. */
export type Catalogue = ReadonlyMap<string, WorkerFunction>

export function catalogueOf(functions: readonly WorkerFunction[]): Catalogue {
  const catalogue = new Map(functions.map((one) => [one.name.toLowerCase(), one]))
  if (catalogue.size < functions.length) {
    throw new Error('two functions of one worker have the same name')
  }
  return catalogue
}

/** Gives the parameters their types; the function's own comes back with its run. */
export const defineFunction = <Params>(one: WorkerFunction<Params>): WorkerFunction =>
  one as WorkerFunction

/** The parameters as a JSON Schema, for people and for `runbook validate`. */
export const parametersSchema = ({ parameters }: WorkerFunction): Record<string, Json> =>
  z.toJSONSchema(parameters, { io: 'input' }) as Record<string, Json>
