// What holds a batch from outside: everything, its runbook or a worker.
import type { Summary } from './batch.tsx'

export const outerHold = ({ verdict }: Pick<Summary, 'verdict'>) =>
  [...verdict.needs, ...verdict.planned].find(
    ({ kind, key }) =>
      kind === 'everything_held' || (kind === 'batch_held' && !key.startsWith('batch_held:batch:')),
  )
