// How long an operator waits: five questions about a batch of 10,000 members, each a command in its own process, from Enter to the
// last line. And how long `--version` takes, compared with bare Node.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgres } from '../src/db/connection/postgres.ts'
import { startPostgres } from '../test/kit/postgres-server.ts'
import { fillBatch } from './api.ts'
import { type Bench, median, round, timeMs } from './bench.ts'

const MEMBERS = 10_000
const ROUNDS = 5
const PROGRAM = join(import.meta.dirname, '../src/main.ts')

const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  'who is where': ['batch', 'get', '1'],
  'what failed and why': ['failures', '1'],
  'what happens next and when': ['batch', 'phases', '1'],
  'what is stuck': ['status', '1'],
  'what happened to this person': ['member', 'show', '1', 'user4711@contoso.example'],
}

export const cliBench: Bench = {
  name: 'cli',
  about: `an operator's five questions about ${MEMBERS} members, each by one command`,
  run: async (say) => {
    const server = await startPostgres({ durable: true })
    const folder = mkdtempSync(join(tmpdir(), 'matoolkit-bench-'))
    const tokenFile = join(folder, 'private', 'token')
    const db = await openPostgres({ url: server.url, poolSize: 2 })
    try {
      await fillBatch(db, MEMBERS)
      return await askAll(server.url, tokenFile, folder, say)
    } finally {
      await db.close()
      server.destroy()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function askAll(
  databaseUrl: string,
  tokenFile: string,
  folder: string,
  say: (line: string) => void,
) {
  const child = fork(new URL('api-process.ts', import.meta.url), [databaseUrl, tokenFile])
  try {
    const [{ url }] = (await once(child, 'message')) as [{ url: string }]
    const env = {
      MATOOLKIT_HOME: folder,
      // As on a terminal.
      MATOOLKIT_OUTPUT: 'table',
      MATOOLKIT_API_URL: url,
      MATOOLKIT_TOKEN: readFileSync(tokenFile, 'utf8'),
    }
    const figures: Record<string, number> = {}
    const measure = async (name: string, args: readonly string[]) => {
      const took: number[] = []
      for (let n = 0; n < ROUNDS; n++) took.push(await timeMs(() => runNode(args, env)))
      figures[name] = round(median(took))
      say(`${name.padEnd(30)} ${figures[name]} ms`)
    }
    for (const [name, args] of Object.entries(QUESTIONS)) await measure(name, [PROGRAM, ...args])
    await measure('bare Node', ['-e', '0'])
    await measure('--version', [PROGRAM, '--version'])
    return { members: MEMBERS, rounds: ROUNDS, medianMs: figures }
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
}

async function runNode(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: 'ignore' })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`)
}
