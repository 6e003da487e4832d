// What a worker can do: named functions with the parameters they take. The schema is the signature: it gives texts the type that
// is asked for, refuses what does not fit before anything runs, and its JSON Schema is what the worker announces. A function may
// be run again with the same job id after a crash, unless it says that it is not idempotent; it stops soon when its signal
// aborts, and it waits on the clock it is given.
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import type { Json } from '../domain/json.ts'
import type { Tenant } from './m365/api.ts'

export interface FunctionCall<Params> {
  readonly params: Params
  readonly tenant: Tenant
  /** Aborts at the job's deadline, and when the worker must stop. Throw its reason then. */
  readonly signal: AbortSignal
  /** The same when a job is run again; another one for every retry and every poll. */
  readonly jobId: string
  readonly clock: Clock
}

/** What the worker's app must have been granted. */
export interface Permissions {
  /** Application roles of Microsoft Graph. */
  readonly graph?: readonly string[]
  /** Roles in Exchange. */
  readonly exchange?: readonly string[]
}

export interface FunctionDefinition<Params, Result extends Json> {
  readonly name: string
  readonly description: string
  readonly parameters: z.ZodType<Params>
  readonly result: z.ZodType<Result>
  readonly permissions: Permissions
  /**
   * Running it twice does no more than running it once. One that is not is never run again when a worker died or stopped in the
   * middle of it: the job fails as of unknown outcome, and a person decides.
   */
  readonly isIdempotent: boolean
  /** How to take back what it does, in a sentence that names the function for it; null when there is nothing to take back. */
  readonly undo: string | null
  /** The result as the runbook sees it. Throwing is failing, and the message is the reason that people read. */
  run(call: FunctionCall<Params>): Promise<Result>
}

export type WorkerFunction = FunctionDefinition<unknown, Json>

/** Functions by name, found without regard to case, as the PowerShell workers of old did. */
export type Catalogue = ReadonlyMap<string, WorkerFunction>

export function catalogueOf(functions: readonly WorkerFunction[]): Catalogue {
  const catalogue = new Map(functions.map((one) => [one.name.toLowerCase(), one]))
  if (catalogue.size < functions.length) {
    throw new Error('two functions of one worker have the same name')
  }
  return catalogue
}

/** Gives the parameters and the result their types; the function's own comes back with its run. */
export const defineFunction = <Params, Result extends Json>(
  one: FunctionDefinition<Params, Result>,
): WorkerFunction => one as unknown as WorkerFunction

/** The parameters as a JSON Schema, for people and for `runbook validate`. */
export const parametersSchema = ({ parameters }: WorkerFunction): Record<string, Json> =>
  z.toJSONSchema(parameters, { io: 'input', unrepresentable: 'any' }) as Record<string, Json>

/** The result as a JSON Schema. */
export const resultSchema = ({ result }: WorkerFunction): Record<string, Json> =>
  z.toJSONSchema(result, { unrepresentable: 'any' }) as Record<string, Json>

/** For functions that touch no tenant and may be run at any time: pretended ones, and those of tests. */
export const TOUCHES_NOTHING = {
  result: z.json() as z.ZodType<Json>,
  permissions: {},
  isIdempotent: true,
  undo: null,
} as const satisfies Partial<WorkerFunction>
