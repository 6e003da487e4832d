// Runs a rehearsal in a process of its own: it may take a minute of a core and half a gigabyte, and if it crashes nobody else notices.
import { fork } from 'node:child_process'
import type { RehearsalOrder, RunRehearsal } from '../../api/services/rehearsals.ts'
import type { Json } from '../../base/text/json.ts'
import type { ChangeWindows } from '../../domain/windows/change-windows.ts'
import type { ChildOrder, ChildWord } from './child.ts'
import { REHEARSAL_FAULTS } from './faults.ts'

/** Of its JavaScript; PostgreSQL's memory comes on top. */
const HEAP_MB = 1_024

/** `windows` are those of the system. */
export function childRehearsals(
  templates: string | null,
  windows: ChangeWindows | null,
): RunRehearsal {
  return {
    faultNames: Object.keys(REHEARSAL_FAULTS),
    run: (order, signal, onProgress) =>
      runInChild({ order, templates, windows, signal, onProgress }),
  }
}

interface ChildRun {
  readonly order: RehearsalOrder
  readonly templates: string | null
  readonly windows: ChangeWindows | null
  readonly signal: AbortSignal
  readonly onProgress: (at: Date) => void
}

function runInChild({ order, templates, windows, signal, onProgress }: ChildRun): Promise<Json> {
  const { promise, resolve, reject } = Promise.withResolvers<Json>()
  const child = fork(new URL('./child.ts', import.meta.url), {
    execArgv: [`--max-old-space-size=${HEAP_MB}`],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // It reads no settings and reaches no tenant, so it gets no secrets either.
    env: {},
  })
  const kill = () => void child.kill('SIGKILL')
  signal.addEventListener('abort', kill)
  child.on('message', (word: ChildWord) => {
    if ('at' in word) onProgress(new Date(word.at))
    else if ('report' in word) resolve(word.report)
    else reject(new Error(word.error))
  })
  child.on('error', reject)
  child.on('exit', (code, killedBy) => {
    signal.removeEventListener('abort', kill)
    const how = killedBy === null ? `with exit code ${code}` : `by ${killedBy}`
    reject(new Error(`Its process ended ${how} before the report was there.`))
  })
  const startAt = order.startAt?.toISOString() ?? null
  const sent: ChildOrder = { ...order, startAt, templates, windows }
  child.send(sent)
  if (signal.aborted) kill()
  // The process is gone before anybody hears of the end.
  const gone = new Promise<void>((done) => child.on('exit', () => done()))
  return promise.finally(async () => {
    kill()
    await gone
  })
}
