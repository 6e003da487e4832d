// The API in a process of its own, for benchmarks that ask it.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface RunningApi {
  readonly pid: number
  readonly url: string
  readonly token: string
  close(): Promise<void>
}

export async function startApi(databaseUrl: string): Promise<RunningApi> {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-bench-'))
  const tokenFile = join(folder, 'private', 'token')
  const child: ChildProcess = fork(new URL('api-process.ts', import.meta.url), [
    databaseUrl,
    tokenFile,
  ])
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  return {
    pid: child.pid!,
    url,
    token: readFileSync(tokenFile, 'utf8'),
    close: async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
