// The runbook of the engine's benchmarks: one phase, due at once, of steps that do nothing.
import { WORKER_ID } from './engine-process.ts'

/** `moreOf` gives the lines of a step after its function, such as its parameters. */
export const noopRunbook = (
  name: string,
  steps: number,
  moreOf: (index: number) => readonly string[],
): string => `
name: ${name}
data_source: { type: csv, path: members.csv, primary_key: Upn, batch_time_column: When }
phases:
  - name: all
    offset: T-0
    steps:
${Array.from({ length: steps }, (_, index) =>
  [`      - name: s${index}`, `worker_id: ${WORKER_ID}`, 'function: Noop', ...moreOf(index)].join(
    '\n        ',
  ),
).join('\n')}
`
