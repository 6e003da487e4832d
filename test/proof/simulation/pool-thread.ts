// One thread of the pool: opens a database, then runs its tasks one after the other.
import { parentPort } from 'node:worker_threads'
import { openRenewablePglite } from '../../kit/renewable-pglite.ts'
import { hunt, type Verdict } from './bug-bank.ts'
import { type Run, runSeed } from './run.ts'

export type Task =
  | { readonly kind: 'run'; readonly seed: number }
  | { readonly kind: 'hunt'; readonly mutant: string; readonly seeds: readonly number[] }
export type TaskResult = { readonly run: Run } | { readonly verdict: Verdict }

const opened = openRenewablePglite()

parentPort!.on('message', async (task: Task) => {
  const db = await opened
  const result: TaskResult =
    task.kind === 'run'
      ? { run: await runSeed({ db, seed: task.seed }) }
      : { verdict: await hunt(db, task.mutant, task.seeds) }
  parentPort!.postMessage(result)
})
