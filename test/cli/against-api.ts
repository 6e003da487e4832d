// The command line against a running API, in this process.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandsFor } from '../../src/app/commands/nouns.ts'
import { run } from '../../src/cli/program/program.ts'
import { type ApiUnderTest, openApiUnderTest, type UnderTestOptions } from '../api/under-test.ts'
import { type RecordingOptions, recordingIo } from './recording-io.ts'

export interface Said {
  readonly exit: number
  readonly out: string
  readonly err: string
  readonly asked: readonly string[]
}

export interface Cli {
  readonly api: ApiUnderTest
  readonly folder: string
  /** Runs a command on a wide terminal without a person. */
  cli(...args: string[]): Promise<Said>
  /** Runs a command as a script would, with stdout in a pipe. */
  script(...args: string[]): Promise<Said>
  /** Runs a command with a person on a terminal. */
  person(options: RecordingOptions, ...args: string[]): Promise<Said>
  /** Runs a command with `--output json`, which must succeed, and parses the answer. */
  json<T = Record<string, unknown>>(...args: string[]): Promise<T>
  /** A file to name in a command. */
  file(name: string, text: string): string
  close(): Promise<void>
}

/** A terminal so wide that no table is cut. */
export const WIDE = 1_000

export async function say(options: RecordingOptions, args: readonly string[]): Promise<Said> {
  const io = recordingIo(options)
  const exit = await run(args, io, await commandsFor(args))
  return { exit, out: io.outText(), err: io.errText(), asked: io.asked }
}

/** Sets environment variables for a test; undefined removes one. */
export function setEnv(settings: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}

/** An address without a server. */
export async function nowhere(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

export async function openCli(options: UnderTestOptions = {}): Promise<Cli> {
  const api = await openApiUnderTest(options)
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-cli-'))
  setEnv({
    MATOOLKIT_HOME: join(folder, 'home'),
    MATOOLKIT_API_URL: api.url,
    MATOOLKIT_TOKEN: api.token,
  })
  const cli: Cli['cli'] = (...args) => say({ width: WIDE }, args)
  return {
    api,
    folder,
    cli,
    script: (...args) => say({}, args),
    person: (given, ...args) => say({ width: WIDE, ...given }, args),
    json: async <T>(...args: string[]) => {
      const said = await cli(...args, '--output', 'json')
      assert.equal(said.exit, 0, said.err)
      return JSON.parse(said.out) as T
    },
    file: (name, text) => {
      const path = join(folder, name)
      writeFileSync(path, text)
      return path
    },
    close: async () => {
      await api.close()
      rmSync(folder, { recursive: true })
      setEnv({
        MATOOLKIT_HOME: undefined,
        MATOOLKIT_API_URL: undefined,
        MATOOLKIT_TOKEN: undefined,
      })
    },
  }
}
