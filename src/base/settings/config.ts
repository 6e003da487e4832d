// Every setting, read once at start into one frozen object; all problems are reported together. The rows (name, kind, default and
// description) stand in the files next to this one, by noun. Only this file reads them from the environment, which wins over the config file, which wins over the
// default; src/base/run/proxy.ts reads the variables of the proxy. docs/reference/settings.md and .env.example are generated from the table.
import { readFileSync } from 'node:fs'
import { MatoolkitError, messageOf } from '../errors/errors.ts'
import { CONNECTION_PREFIXES, NOTIFY_PREFIX } from '../text/reserved-names.ts'
import { nearest } from '../text/spelling.ts'
import { API_SETTINGS } from './api.ts'
import { BUS_SETTINGS } from './bus.ts'
import { CLIENT_SETTINGS, type ClientEnv } from './client.ts'
import { DATABASE_SETTINGS } from './database.ts'
import { earlierSettingsIn, type FoundEarlier } from './earlier.ts'
import { EVIDENCE_SETTINGS } from './evidence.ts'
import { IDENTITY_SETTINGS } from './identity.ts'
import type { Setting } from './kinds.ts'
import { ORCHESTRATOR_SETTINGS } from './orchestrator.ts'
import { CONFIG_FILE, PROCESS_SETTINGS } from './process.ts'
import { RETENTION_SETTINGS } from './retention.ts'
import { SCHEDULER_SETTINGS } from './scheduler.ts'
import { TELEMETRY_SETTINGS } from './telemetry.ts'
import { WORKER_SETTINGS } from './worker.ts'

/** Azure's exporter would report to Microsoft about itself; only the environment tells it not to. */
export function quietExporters(): void {
  process.env.APPLICATION_INSIGHTS_NO_STATSBEAT ??= '1'
  process.env.APPLICATIONINSIGHTS_SDKSTATS_DISABLED ??= '1'
}

export const SETTINGS = {
  ...PROCESS_SETTINGS,
  ...DATABASE_SETTINGS,
  ...BUS_SETTINGS,
  ...ORCHESTRATOR_SETTINGS,
  ...SCHEDULER_SETTINGS,
  ...API_SETTINGS,
  ...IDENTITY_SETTINGS,
  ...WORKER_SETTINGS,
  ...CLIENT_SETTINGS,
  ...EVIDENCE_SETTINGS,
  ...RETENTION_SETTINGS,
  ...TELEMETRY_SETTINGS,
}

type SettingKey = keyof typeof SETTINGS
export type Config = Readonly<{
  [K in SettingKey]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never
}>

/** Prefix of connection variables for runbooks: not our settings, never reported as unknown. */
const SOURCE_PREFIX = 'MATOOLKIT_SOURCE_'
const MAX_FILE_CHARS = 100_000

type Texts = Readonly<Record<string, string | undefined>>
export type ConfigOrProblems =
  | { readonly config: Config }
  | { readonly problems: readonly string[] }

/** Builds the configuration from the environment and the config file's text, or returns all problems. */
export function readConfig(env: Texts, fileText?: string): ConfigOrProblems {
  const problems: string[] = []
  const file = fileText === undefined ? {} : readFile(fileText, problems)
  reportUnknown(env, problems)
  const isGiven = (name: string) => Boolean(env[name]?.trim() || file[name]?.trim())
  for (const { name, advice } of earlierSettingsIn(env, isGiven))
    problems.push(`${name} is a setting of the earlier system: ${advice}.`)
  const values: Record<string, unknown> = {}
  for (const [key, definition] of Object.entries<Setting<unknown>>(SETTINGS)) {
    // Shells and compose files write "not set" as an empty variable.
    const fromEnv = env[definition.name]?.trim()
    const text = fromEnv || file[definition.name]?.trim()
    values[key] = text
      ? readSetting(definition, text, fromEnv ? '' : ' in the config file', problems)
      : definition.default
  }
  if (problems.length > 0) return { problems }
  return { config: deepFreeze(values as Config) }
}

function readSetting(
  definition: Setting<unknown>,
  text: string,
  place: string,
  problems: string[],
): unknown {
  const value = definition.read(text)
  if (value === undefined) {
    const shown = definition.secret ? ' has an invalid value (not shown): it' : ` is "${text}", but`
    problems.push(
      `${definition.name}${place}${shown} must be ${definition.mustBe}.${didYouMean(definition.meant?.(text))}`,
    )
  }
  return value
}

const NAMES = Object.values(SETTINGS).map(({ name }) => name)
const didYouMean = (guess: string | null | undefined) => (guess ? ` Did you mean "${guess}"?` : '')

function reportUnknown(env: Texts, problems: string[]): void {
  for (const name of Object.keys(env).sort()) {
    const isOthers = name.startsWith(SOURCE_PREFIX) || name.startsWith(NOTIFY_PREFIX)
    if (!name.startsWith('MATOOLKIT_') || isOthers || NAMES.includes(name)) continue
    problems.push(`${name} is not a setting.${didYouMean(nearest(name, NAMES)) || ' Remove it.'}`)
  }
}

function readFile(text: string, problems: string[]): Texts {
  if (text.length > MAX_FILE_CHARS) {
    problems.push(`The config file has ${text.length} characters; the limit is ${MAX_FILE_CHARS}.`)
    return {}
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    // The parser's own message quotes the text near the error, which may be a password.
    problems.push('The config file is not valid JSON. Check it with an editor that knows JSON.')
    return {}
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    problems.push('The config file must contain one JSON object: { "NAME": value, … }.')
    return {}
  }
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(parsed)) {
    const problem = fileProblem(name, value)
    if (problem) problems.push(problem)
    else texts[name] = String(value)
  }
  return texts
}

function fileProblem(name: string, value: unknown): string | null {
  if (name === CONFIG_FILE) return `${name} is not allowed in the config file itself. Remove it.`
  if (!NAMES.includes(name)) {
    const advice = didYouMean(nearest(name, NAMES)) || ' Remove it.'
    return `"${name}" in the config file is not a setting.${advice}`
  }
  const isText = (item: unknown) => typeof item === 'string' || typeof item === 'number'
  if (isText(value) || (Array.isArray(value) && value.every(isText))) return null
  return `${name} in the config file must be a text, a number or a list of texts.`
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (part && typeof part === 'object') deepFreeze(part)
  return Object.freeze(value)
}

/**
 * The connection of a data source, from the environment. A runbook chooses the name, so only allowed prefixes are read: no
 * runbook can make us send DATABASE_URL to a server of its choice.
 */
export function readConnectionVariable(name: string): string | undefined {
  const isAllowed = CONNECTION_PREFIXES.some((prefix) => name.startsWith(prefix))
  return isAllowed ? process.env[name] : undefined
}

/** A secret of a notification channel, from the environment. The file of channels chooses the name, so only this prefix is read. */
export const readNotifyVariable = (name: string): string | undefined =>
  name.startsWith(NOTIFY_PREFIX) ? process.env[name] : undefined

/** Windows sets it in every process. */
export const windowsFolder = (): string => process.env.SystemRoot ?? String.raw`C:\Windows`

/** Node's own options, those of its command line last: they win. */
export const nodeOptions = (): string =>
  [process.env.NODE_OPTIONS ?? '', ...process.execArgv].join(' ')

/** For programs of others that we start: without our settings and secrets. */
export const environmentWithoutSettings = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:MATOOLKIT_|DATABASE_URL$|PG)/i.test(name)),
  )

/** The client settings in the environment, unparsed; the client merges them with its own file. */
export function readClientEnv(): ClientEnv {
  const settings = { ...CLIENT_SETTINGS, tenantId: SETTINGS.tenantId }
  const given = Object.entries(settings).map(([key, { name }]) => [key, process.env[name]?.trim()])
  return Object.fromEntries(given.filter(([, value]) => value))
}

/** Settings of the earlier system in this environment that nothing replaces. */
export const earlierSettings = (): readonly FoundEarlier[] =>
  earlierSettingsIn(process.env, (name) => Boolean(process.env[name]?.trim()))

/** Reads the environment and the config file it names. Throws CONFIG_INVALID with all problems. */
export function loadConfig(): Config {
  const path = process.env[CONFIG_FILE]?.trim()
  let fileText: string | undefined
  const problems: string[] = []
  try {
    if (path) fileText = readFileSync(path, 'utf8')
  } catch (error) {
    problems.push(`${CONFIG_FILE} is "${path}", which cannot be read: ${messageOf(error)}.`)
  }
  const read = readConfig(process.env, fileText)
  if ('problems' in read) problems.push(...read.problems)
  if ('config' in read && problems.length === 0) return read.config
  const list = problems.map((problem) => `\n  - ${problem}`).join('')
  throw new MatoolkitError('CONFIG_INVALID', { count: problems.length, problems: `${list}\n` })
}
