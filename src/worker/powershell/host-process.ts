// The PowerShell process and the pipe it talks over. The pipe lies in a folder that only this user can enter, and the process proves with a
// one-time greeting that it is the one that was started.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { environmentWithoutSettings } from '../../base/settings/config.ts'

const HOST_SCRIPT = join(import.meta.dirname, 'host.ps1')
const OUTPUT_CHARS_KEPT = 1_000

export interface HostProcess {
  send(line: string): void
  /** Called for every line after the greeting. */
  onLine(take: (line: string) => void): void
  /** Resolves with the reason once the process or its pipe has ended. */
  readonly ended: Promise<Error>
  /** Ends the process and what it started. */
  kill(): void
}

/** Starts the program and waits for its greeting. `late` rejects when that takes too long. */
export async function startHost(program: string, late: Promise<never>): Promise<HostProcess> {
  const pipe = await openPipe()
  const greeting = randomUUID()
  const child = startProgram(program, pipe.name, greeting)
  const said = keepWords(child)
  const ended = endOf(program, child, said)
  const endedEarly = ended.then((reason) => Promise.reject(reason))
  endedEarly.catch(() => {})
  try {
    const [socket] = (await Promise.race([once(pipe.server, 'connection'), endedEarly, late])) as [
      Socket,
    ]
    // A broken pipe shows as the end of the process.
    socket.on('error', () => {})
    const lines = createInterface({ input: socket })
    const [first] = (await Promise.race([once(lines, 'line'), endedEarly, late])) as [string]
    if (!first.includes(greeting))
      throw new Error('Another program answered on the pipe of PowerShell.')
    socket.once('close', () => killTree(child))
    return {
      // What the last call wrote came before its answer, but through another pipe: it is read by the end of this turn of the loop.
      send: (line) =>
        void setImmediate(() => {
          said.forget()
          socket.write(`${line}\n`)
        }),
      onLine: (take) => void lines.on('line', take),
      ended,
      kill: () => killTree(child),
    }
  } catch (error) {
    killTree(child)
    throw error
  } finally {
    await pipe.close()
  }
}

interface Pipe {
  readonly name: string
  readonly server: Server
  /** No further connections; the open one stays. */
  close(): Promise<void>
}

async function openPipe(): Promise<Pipe> {
  const isWindows = process.platform === 'win32'
  const folder = isWindows ? null : await mkdtemp(join(tmpdir(), 'matoolkit-'))
  const name = folder === null ? `matoolkit-${randomUUID()}` : join(folder, 'pipe')
  const server = createServer()
  server.listen(isWindows ? `\\\\.\\pipe\\${name}` : name)
  await once(server, 'listening')
  return {
    name,
    server,
    close: async () => {
      server.close()
      if (folder !== null) await rm(folder, { recursive: true, force: true })
    },
  }
}

function startProgram(program: string, pipeName: string, greeting: string): ChildProcess {
  const options = ['-NoLogo', '-NoProfile', '-NonInteractive', '-File', HOST_SCRIPT]
  return spawn(program, [...options, '-PipeName', pipeName], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Modules get their connections from the host script; the worker's own secrets stay here.
    env: { ...environmentWithoutSettings(), MATOOLKIT_GREETING: greeting },
    // A group of its own, so that a deadline also ends what a function started.
    detached: process.platform !== 'win32',
    windowsHide: true,
  })
}

interface Words {
  said(): string
  /** What one call wrote is no reason for the end of another. */
  forget(): void
}

/** The first ones: a crash says why before it prints its stack. */
function keepWords(child: ChildProcess): Words {
  let words = ''
  child.stdout!.resume()
  child.stderr!.on('data', (text: Buffer) => {
    words = (words + text.toString()).slice(0, OUTPUT_CHARS_KEPT)
  })
  return {
    said: () => words.trim(),
    forget: () => {
      words = ''
    },
  }
}

function endOf(program: string, child: ChildProcess, words: Words): Promise<Error> {
  return new Promise((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'ENOENT'
          ? `PowerShell is not installed: there is no program "${program}". Install PowerShell 7.4 or later, or set MATOOLKIT_PWSH to its path.`
          : `PowerShell cannot be started: ${error.message}.`
      resolve(new Error(reason))
    })
    child.once('close', (code, signal) => {
      const how = signal === null ? `with code ${code}` : `by ${signal}`
      const said = words.said() === '' ? '' : ` It said: ${words.said()}`
      resolve(new Error(`PowerShell ended ${how}.${said}`))
    })
  })
}

function killTree(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    if (process.platform === 'win32') child.kill('SIGKILL')
    else process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has just ended.
  }
}
