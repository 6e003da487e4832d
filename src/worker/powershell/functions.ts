// Functions of PowerShell modules as worker functions: their signatures come from PowerShell, and each call runs in one of the sessions,
// as many as there are calls at the same time. A session that ended is replaced by the next call.
import { z } from 'zod'
import { messageOf } from '../../base/errors/errors.ts'
import { HiddenSecrets } from '../../base/log/hidden-secrets.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { CloudName } from '../../base/settings/worker.ts'
import { isObject, type Json, type JsonObject } from '../../base/text/json.ts'
import { declaredFacts } from '../../domain/runbook/function-facts.ts'
import { defineFunction, type FunctionCall, type WorkerFunction } from '../functions/catalogue.ts'
import { NO_TENANT_CODE, type Tenant } from '../functions/tenant.ts'
import { ApiError } from '../http/api.ts'
import { PowerShellSessions } from './sessions.ts'

export interface PowerShellParts {
  /** The program, such as `pwsh`. */
  readonly program: string
  readonly cloud: CloudName
  readonly clock: Clock
  /** A function wrote several objects; the last one is its result. */
  readonly onSeveralObjects?: (functionName: string, outputs: number) => void
}

export interface PowerShellFunctions {
  /** Per module path. */
  readonly functions: ReadonlyMap<string, readonly WorkerFunction[]>
  /** Per module path: why it cannot be used. */
  readonly problems: ReadonlyMap<string, string>
  /** Ends all sessions. */
  close(): void
}

const parameterShape = z.object({
  name: z.string(),
  type: z.string(),
  mandatory: z.boolean(),
  choices: z.array(z.string()),
  help: z.string().nullable(),
})
type ParameterShape = z.infer<typeof parameterShape>

const functionShape = z.object({
  name: z.string(),
  synopsis: z.string().nullable(),
  parameters: z.array(parameterShape),
  idempotent: z.boolean().nullable(),
  undo: z.string().nullable(),
  permissions: z.record(z.string(), z.array(z.string())),
  overrides: z.boolean().default(false),
  facts: z.preprocess((value) => asDeclared(value as Json), declaredFacts),
})
type FunctionShape = z.infer<typeof functionShape>

/** Names in a manifest begin with a capital: `UndoneBy`. */
function asDeclared(value: Json): Json {
  if (Array.isArray(value)) return value.map(asDeclared)
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([key, inner]) => [
      key.replace(/^./, (first) => first.toLowerCase()),
      asDeclared(inner),
    ]),
  )
}

const moduleShape = z.union([
  z.object({ path: z.string(), problem: z.string() }),
  z.object({
    path: z.string(),
    connects: z.array(z.string()),
    /** It says nothing about connections: it gets those that there are, and runs without a tenant too. */
    isDefault: z.boolean(),
    functions: z.array(z.json()),
  }),
])

function misfit(described: Json, { issues: [first] }: z.ZodError): string {
  const name = isObject(described) ? String(described.name) : 'a function'
  return `${name}: ${first!.path.join('.')}: ${first!.message}.`
}

/** Imports the modules and keeps the session for the first call. */
export async function openPowerShell(
  modules: readonly string[],
  parts: PowerShellParts,
): Promise<PowerShellFunctions> {
  const sessions = new PowerShellSessions(modules, parts)
  const problems = new Map<string, string>()
  const functions = new Map<string, readonly WorkerFunction[]>()
  try {
    for (const found of z.array(moduleShape).parse(await sessions.describe())) {
      if ('problem' in found) problems.set(found.path, `it cannot be imported: ${found.problem}`)
      else {
        const shapes = found.functions.map((described) => functionShape.safeParse(described))
        const unfit = shapes.findIndex(({ success }) => !success)
        if (unfit >= 0)
          problems.set(found.path, misfit(found.functions[unfit]!, shapes[unfit]!.error!))
        else
          functions.set(
            found.path,
            shapes.map(({ data }) => asFunction(data!, found, sessions, parts)),
          )
      }
    }
  } catch (error) {
    for (const path of modules) problems.set(path, messageOf(error))
  }
  return { functions, problems, close: () => sessions.close() }
}

function asFunction(
  shape: FunctionShape,
  connections: Connections,
  sessions: PowerShellSessions,
  parts: PowerShellParts,
): WorkerFunction {
  return defineFunction({
    name: shape.name,
    description: shape.synopsis ?? 'A function of a PowerShell module.',
    parameters: z.strictObject(
      Object.fromEntries(shape.parameters.map((parameter) => [parameter.name, kindOf(parameter)])),
    ),
    result: z.json() as z.ZodType<Json>,
    permissions: shape.permissions,
    // Unless its owner says otherwise: only reading is safe to repeat.
    isIdempotent: shape.idempotent ?? /^(?:get|test)-/i.test(shape.name),
    // As in the earlier system, unless its owner says that it must not.
    repeatsWhenThrottled: shape.idempotent !== false,
    undo: shape.undo,
    ...(shape.overrides && { overrides: true }),
    ...shape.facts,
    run: async (call) => {
      const tokens = await tokensFor(connections, call.tenant)
      const request = requestOf(shape.name, call, parts.cloud, tokens)
      const { result, outputs } = await sessions
        .run(request, call.signal)
        .catch((error: unknown) => throwWithout(tokens, error))
      if (outputs > 1) parts.onSeveralObjects?.(shape.name, outputs)
      return hiding(tokens).hideIn(result)
    },
  })
}

type ServiceTokens = Readonly<Record<string, string>>

interface Connections {
  readonly connects: readonly string[]
  readonly isDefault: boolean
}

async function tokensFor(
  { connects, isDefault }: Connections,
  tenant: Tenant,
): Promise<ServiceTokens> {
  const tokens: Record<string, string> = {}
  try {
    for (const name of connects) tokens[name] = await tenant.token(name)
  } catch (error) {
    if (!(isDefault && error instanceof ApiError && error.code === NO_TENANT_CODE)) throw error
  }
  return tokens
}

function requestOf(
  name: string,
  { params, tenant, jobId }: FunctionCall<JsonObject>,
  cloud: CloudName,
  tokens: ServiceTokens,
): JsonObject {
  const request = { function: name, parameters: params, jobId, cloud, tokens }
  if (Object.keys(tokens).length === 0) return request
  return { ...request, tenantId: tenant.id, organization: tenant.organization }
}

/** A module may repeat its token, in a result or in what it throws. */
function hiding(tokens: ServiceTokens): HiddenSecrets {
  const hidden = new HiddenSecrets()
  for (const token of Object.values(tokens)) hidden.add(token, '***')
  return hidden
}

/** Of another's error, such as the reason of an abort, the message may be read-only. */
function throwWithout(tokens: ServiceTokens, error: unknown): never {
  if (!(error instanceof Error)) throw error
  const message = hiding(tokens).hideIn(error.message)
  if (message !== error.message) error.message = message
  throw error
}

const KINDS: Readonly<Record<string, () => z.ZodType<Json>>> = {
  'System.String': () => z.string(),
  'System.Security.SecureString': () => z.string(),
  'System.DateTime': () => z.string(),
  'System.DateTimeOffset': () => z.string(),
  'System.Guid': () => z.guid(),
  'System.Uri': () => z.string(),
  'System.Int32': () => z.int32(),
  'System.Int64': () => z.int(),
  'System.Double': () => z.number(),
  'System.Decimal': () => z.number(),
  'System.Boolean': () => z.boolean(),
  'System.Management.Automation.SwitchParameter': () => z.boolean(),
}

/** Types that PowerShell alone understands are passed on as they are: it converts or refuses them. */
function kindOf({ type, mandatory, choices, help }: ParameterShape): z.ZodType<Json> {
  const listed = type.endsWith('[]') ? type.slice(0, -2) : undefined
  const one =
    choices.length > 0
      ? z.enum(choices)
      : (KINDS[listed ?? type]?.() ?? (z.json() as z.ZodType<Json>))
  const kind: z.ZodType<Json> = listed === undefined ? one : z.array(one)
  const described = help === null ? kind : kind.describe(help)
  return mandatory ? described : (described.optional() as unknown as z.ZodType<Json>)
}
