// Evidence packs and run sheets of large batches: time, size, and the peak memory of the process that writes or checks one. Memory must not
// grow with the batch.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Db } from '../src/db/connection/db.ts'
import { openPostgres } from '../src/db/connection/postgres.ts'
import { startPostgres } from '../test/kit/postgres-server.ts'
import { fillBatch } from './api.ts'
import { type Bench, given, timeMs } from './bench.ts'
import { cpuOfProcessUs } from './cpu.ts'
import type { Checked } from './evidence-process.ts'
import { startApi } from './running-api.ts'

const SIZES = given('members')?.split(',').map(Number) ?? [10_000, 100_000]
const MB = 2 ** 20

export const evidenceBench: Bench = {
  name: 'evidence',
  about: `evidence pack and run sheet of ${SIZES.join(' and ')} members, written by the API on PostgreSQL, and checked`,
  run: async (say) => {
    const sizes: Record<string, unknown> = {}
    for (const members of SIZES) {
      sizes[members] = await measureSize(members)
      say(`${members} members: ${JSON.stringify(sizes[members])}`)
    }
    return { sizes }
  },
}

async function measureSize(members: number) {
  const server = await startPostgres({ durable: true })
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-bench-'))
  const db = await openPostgres({ url: server.url, poolSize: 2 })
  try {
    await fillBatch(db, members)
    await addAttempts(db)
    const pack = join(folder, 'pack.tar.gz')
    const written = await measureDownload(server.url, '/api/batches/1/evidence', pack)
    const sheet = await measureDownload(
      server.url,
      '/api/batches/1/run-sheet',
      join(folder, 'sheet.html'),
    )
    return { written, checked: await check(pack), sheet }
  } finally {
    await db.close()
    server.destroy()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One for each step that has passed, with what it changed. */
const addAttempts = (db: Db): Promise<unknown> =>
  db.script(`
    insert into attempts (step_id, batch_id, job_id, attempt, poll, worker_id, sent_at, settled_at, outcome, result_json, duration_ms, effect_json)
      select id, batch_id, job_id, 0, 0, worker_id, dispatched_at, completed_at, 'succeeded', result_json, 300,
             jsonb_build_object('changed', true, 'target', job_id, 'before', jsonb_build_object('Department', 'Sales'),
               'undo', jsonb_build_object('functionName', 'Set-EntraUserAttribute', 'parameters', params_json))
        from step_executions where status = 'succeeded' order by id;
    analyze;`)

/** Each in an API of its own, so that its peak is that of this download. */
async function measureDownload(databaseUrl: string, path: string, file: string) {
  const api = await startApi(databaseUrl)
  try {
    const headers = { authorization: `Bearer ${api.token}` }
    await fetch(`${api.url}/api/batches/1`, { headers }).then((answer) => answer.text())
    const [idleMb, cpuUs] = [peakMbOf(api.pid), cpuOfProcessUs(api.pid)]
    const ms = await timeMs(async () => {
      const answer = await fetch(`${api.url}${path}`, { headers })
      if (!answer.ok) throw new Error(await answer.text())
      await pipeline(Readable.fromWeb(answer.body as never), createWriteStream(file))
    })
    return {
      ms: Math.round(ms),
      cpuMs: Math.round((cpuOfProcessUs(api.pid) - cpuUs) / 1_000),
      mb: Math.round((statSync(file).size / MB) * 10) / 10,
      idleMb,
      peakMb: peakMbOf(api.pid),
    }
  } finally {
    await api.close()
  }
}

/** The kernel's high-water mark. Linux only. */
const peakMbOf = (pid: number): number =>
  Math.round(
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024,
  )

async function check(file: string): Promise<Checked> {
  const child = fork(new URL('evidence-process.ts', import.meta.url), [file])
  const [checked] = (await once(child, 'message')) as [Checked]
  await once(child, 'exit')
  return checked
}
