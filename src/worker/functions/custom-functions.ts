// Custom functions: modules in a folder, loaded at start and held to the same contract as the standard ones. Every fault is reported, and
// a worker with one does not start: a module that is missing may be the one that disables an account where ours deletes it. Modules run
// with all rights of the worker, so write access to the folder is as good as those. PowerShell modules are imported by PowerShell.
import { readdir } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { messageOf } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { functionFacts } from '../../domain/runbook/function-facts.ts'
import { ApiError, pathOf } from '../http/api.ts'
import { openPowerShell, type PowerShellParts } from '../powershell/functions.ts'
import { findPowerShellModules } from '../powershell/modules.ts'
import {
  defineFunction,
  factsIn,
  parametersSchema,
  resultSchema,
  type WorkerFunction,
} from './catalogue.ts'
import { nameFault } from './function-names.ts'

export interface Discovered {
  /** Those of the folder, those with a name in use among them. */
  readonly functions: readonly WorkerFunction[]
  /** One sentence for each module or export that is missing or has no name of its own. */
  readonly problems: readonly string[]
  /** Ends the processes that run PowerShell functions. */
  close(): void
}

export interface CustomFunctionsOptions {
  readonly folder: string
  /** Functions the worker already has. Only a custom function with `overrides` may have the name of one. */
  readonly standard: readonly WorkerFunction[]
  /** Of the package that the worker runs. */
  readonly kit?: Readonly<Record<string, unknown>>
  readonly clock: Clock
  readonly powerShell: Omit<PowerShellParts, 'clock'>
}

const MODULE = /^(?!\.).*(?<!\.test)(?<!\.d)\.(?:ts|mts|js|mjs)$/
const MODULES_MAX = 500
/** A module with an endless top-level await must not keep the worker from starting. */
const LOAD_TIMEOUT_MS = 30_000

/** Passed to each module with the kit of its package, so that it imports nothing of ours and may live anywhere. */
const KIT = { defineFunction, z, ApiError, pathOf } as const

/** The default export of a module: returns one function or more. */
export type MakeFunctions<PackageKit> = (
  kit: Omit<typeof KIT, keyof PackageKit> & PackageKit,
) => WorkerFunction | readonly WorkerFunction[]

export async function discoverFunctions(options: CustomFunctionsOptions): Promise<Discovered> {
  const { folder, standard } = options
  const problems: string[] = []
  const functions: WorkerFunction[] = []
  const add = (file: string, found: readonly WorkerFunction[]) => {
    for (const definition of found) {
      const fault = nameFault(definition, standard, functions)
      if (fault !== null) problems.push(`${file}: ${fault}`)
      functions.push({ ...definition, isCustom: true })
    }
  }
  for (const file of await modulesIn(folder, problems))
    add(file, await functionsOf(join(folder, file), file, options, problems))
  const close = await addPowerShell(options, problems, add)
  if (functions.length === 0 && problems.length === 0)
    problems.push(`The folder "${folder}" holds no function. Mount it, or unset its setting.`)
  return { functions, problems, close }
}

async function addPowerShell(
  { folder, clock, powerShell }: CustomFunctionsOptions,
  problems: string[],
  add: (file: string, found: readonly WorkerFunction[]) => void,
): Promise<() => void> {
  const modules = await findPowerShellModules(folder)
  if (modules.length === 0) return () => {}
  const nameOf = (path: string) => relative(folder, path)
  const opened = await openPowerShell(modules, { ...powerShell, clock })
  for (const [path, found] of opened.functions) {
    const fit = found.filter((definition) => {
      const problem = whyUnfit(definition)
      if (problem !== null) problems.push(`${nameOf(path)}: ${definition.name}: ${problem}.`)
      return problem === null
    })
    add(nameOf(path), fit)
  }
  for (const [path, problem] of opened.problems) problems.push(`${nameOf(path)}: ${problem}`)
  return opened.close
}

async function modulesIn(folder: string, problems: string[]): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    // Links count: container volumes mount files as links.
    const files = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name)
    const modules = files.filter((name) => MODULE.test(name)).sort()
    if (modules.length > MODULES_MAX)
      problems.push(
        `The folder holds ${modules.length} modules; only the first ${MODULES_MAX} are used.`,
      )
    return modules.slice(0, MODULES_MAX)
  } catch (error) {
    problems.push(`Cannot read the folder "${folder}": ${messageOf(error)}.`)
    return []
  }
}

async function functionsOf(
  path: string,
  file: string,
  { kit = {}, clock }: Pick<CustomFunctionsOptions, 'kit' | 'clock'>,
  problems: string[],
): Promise<WorkerFunction[]> {
  const loaded = await load(path, kit, clock)
  if ('problem' in loaded) {
    problems.push(`${file}: ${loaded.problem}`)
    return []
  }
  const { made } = loaded
  return (Array.isArray(made) ? made : [made]).flatMap((value: unknown, index) => {
    const problem = whyUnfit(value)
    if (problem === null) return [value as WorkerFunction]
    problems.push(`${file}: export ${index + 1} is not a function definition: ${problem}.`)
    return []
  })
}

type Loaded = { readonly made: unknown } | { readonly problem: string }

async function load(path: string, kit: object, clock: Clock): Promise<Loaded> {
  const done = new AbortController()
  const timedOut = clock.wait(LOAD_TIMEOUT_MS, done.signal).then(() => ({
    problem: `it did not load within ${LOAD_TIMEOUT_MS / 1_000} s.`,
  }))
  try {
    return await Promise.race([makeWith(path, kit), timedOut])
  } finally {
    done.abort()
  }
}

async function makeWith(path: string, kit: object): Promise<Loaded> {
  try {
    const { default: make } = (await import(pathToFileURL(resolve(path)).href)) as {
      default?: unknown
    }
    if (typeof make !== 'function') return { problem: 'its default export is not a function.' }
    return { made: await make({ ...KIT, ...kit }) }
  } catch (error) {
    return { problem: `it cannot be loaded: ${firstLineOf(error)}.` }
  }
}

/** A module may throw anything. */
function firstLineOf(error: unknown): string {
  try {
    return messageOf(error).split('\n')[0] ?? ''
  } catch {
    return 'it threw something unreadable'
  }
}

const NAME = /^[A-Za-z][\w-]{0,99}$/

/** Null when the value fulfils the contract in src/worker/functions/catalogue.ts. */
function whyUnfit(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return 'it was not made by defineFunction'
  try {
    const definition = value as Partial<WorkerFunction>
    if (typeof definition.name !== 'string' || !NAME.test(definition.name))
      return 'its name is missing or invalid'
    if (typeof definition.description !== 'string') return 'it has no description'
    if (typeof definition.run !== 'function') return 'it has no run'
    if (typeof definition.isIdempotent !== 'boolean') return 'isIdempotent is missing'
    if (typeof definition.permissions !== 'object' || definition.permissions === null)
      return 'permissions is missing'
    if (definition.undo !== null && typeof definition.undo !== 'string') return 'undo is missing'
    if (![undefined, true].includes(definition.overrides)) return 'overrides may only be true'
    const problem = whyUnfitTogether(definition as WorkerFunction)
    if (problem !== null) return problem
    parametersSchema(definition as WorkerFunction)
    resultSchema(definition as WorkerFunction)
    return whyUnfitFacts(definition as WorkerFunction)
  } catch (error) {
    return `its parameters or result are not a schema (${firstLineOf(error)})`
  }
}

/** A fact that nobody can read would count as none: a step that only reads would wait for the change window. */
function whyUnfitFacts(definition: WorkerFunction): string | null {
  const { data: facts, error } = functionFacts.safeParse(factsIn(definition))
  if (error) return `${error.issues[0]!.path.join('.')}: ${error.issues[0]!.message}`
  const isChange = facts.removes || facts.isIrreversible || facts.creates
  if (facts.effect !== 'changes' && (isChange || facts.undoneBy.length > 0 || definition.effectOf))
    return `its effect is "${facts.effect}", and it says what becomes of a change`
  return null
}

const TOGETHER_LIMIT_MAX = 10_000
const TOGETHER_WAIT_MAX_MS = 60_000

function whyUnfitTogether({ together, isIdempotent }: WorkerFunction): string | null {
  if (together === undefined) return null
  if (!isIdempotent) return 'together needs isIdempotent: after a failure it is tried in halves'
  if (typeof together.key !== 'function' || typeof together.run !== 'function')
    return 'together needs key and run'
  const isWithin = (value: number, least: number, most: number) => value >= least && value <= most
  if (!Number.isInteger(together.limit) || !isWithin(together.limit, 2, TOGETHER_LIMIT_MAX))
    return `together.limit is no whole number from 2 to ${TOGETHER_LIMIT_MAX}`
  if (!isWithin(together.waitMs, 0, TOGETHER_WAIT_MAX_MS))
    return `together.waitMs is not from 0 to ${TOGETHER_WAIT_MAX_MS}`
  return null
}
