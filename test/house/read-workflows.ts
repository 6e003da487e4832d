// The workflows and actions of .github, read by GitHub's own parser: what it refuses, GitHub refuses.
import { globSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ROOT } from '../kit/processes.ts'

// The parser imports its schemas in the way of bundlers.
registerHooks({
  load: (url, context, next) =>
    next(url, url.endsWith('.json') ? { ...context, importAttributes: { type: 'json' } } : context),
})
const { NoOperationTraceWriter, parseWorkflow } = await import('@actions/workflow-parser')
const { parseAction } = await import('@actions/workflow-parser/actions/action-parser')

export interface Step {
  readonly name?: string
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string>>
}

export interface Job {
  readonly permissions?: Readonly<Record<string, string>>
  readonly 'timeout-minutes'?: number
  readonly 'runs-on'?: string
  readonly environment?: string
  readonly needs?: string | readonly string[]
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly unknown[]>> }
  readonly steps: readonly Step[]
}

export interface Pipeline {
  readonly path: string
  readonly text: string
  readonly isAction: boolean
  readonly on: Readonly<Record<string, unknown>>
  readonly permissions: unknown
  readonly concurrency: unknown
  readonly jobs: Readonly<Record<string, Job>>
  readonly steps: readonly Step[]
}

/** What GitHub's parser says against the text. */
export function faultsOf(path: string, text: string, isAction: boolean): string[] {
  const read = isAction ? parseAction : parseWorkflow
  const { context } = read({ name: path, content: text }, new NoOperationTraceWriter())
  return context.errors.getErrors().map(String)
}

export function readPipelines(): Pipeline[] {
  const paths = globSync('.github/{workflows/*.yml,actions/*/action.yml}', { cwd: ROOT })
  return paths.toSorted().map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    const tree = parse(text) as {
      on?: Record<string, unknown>
      permissions?: unknown
      concurrency?: unknown
      jobs?: Record<string, Job>
      runs?: { steps: Step[] }
    }
    const { on = {}, permissions, concurrency, jobs = {}, runs } = tree
    const steps = runs?.steps ?? Object.values(jobs).flatMap((job) => job.steps)
    return { path, text, isAction: runs !== undefined, on, permissions, concurrency, jobs, steps }
  })
}
