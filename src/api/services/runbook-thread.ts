// The thread that reads runbooks for callers (runbook-reader.ts): what is asked comes as a message, and its answer goes back.
import { parentPort } from 'node:worker_threads'
import { previewMessage } from '../../domain/member-messages/preview.ts'
import { type PlanFacts, planRun } from '../../domain/plan/run-plan.ts'
import type { FunctionCatalogue } from '../../domain/runbook/catalogues.ts'
import { factsFrom } from '../../domain/runbook/function-facts.ts'
import { readRunbook } from '../../domain/runbook/read.ts'

type ThreadPlanFacts = Omit<PlanFacts, 'factsOf'> & {
  readonly catalogues: readonly FunctionCatalogue[]
}

const TASKS = {
  readRunbook,
  previewMessage,
  planRun: ({ catalogues, ...facts }: ThreadPlanFacts) =>
    planRun({ ...facts, factsOf: factsFrom(catalogues) }),
}

export type Tasks = typeof TASKS

export type ThreadAnswer =
  | { readonly answer: unknown }
  /** A fault of ours: these functions never throw for a caller's mistake. */
  | { readonly fault: unknown }

export interface Asked<K extends keyof Tasks = keyof Tasks> {
  readonly task: K
  readonly given: Parameters<Tasks[K]>
}

function answerTo({ task, given }: Asked): ThreadAnswer {
  try {
    return { answer: (TASKS[task] as (...given: unknown[]) => unknown)(...given) }
  } catch (fault) {
    return { fault }
  }
}

parentPort!.on('message', (asked: Asked) => parentPort!.postMessage(answerTo(asked)))
