// Programs in C# that use somebody else's implementation and tell what it says of ours. `npm test` needs no .NET; where the SDK or a
// package is missing, the proof names what it left out and passes. A program that does not compile fails it.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { atEnd } from '../../kit/at-end.ts'

export interface Judge {
  /** Runs the program: one JSON value per line of its output. */
  ask<Answer>(args: readonly string[], input?: string): Promise<Answer[]>
}

/** Why there is no judge. */
export interface LeftOut {
  readonly leftOut: string
}

/** Programs of one file need it. */
const SDK_MIN = 10
const VERSION_MS_MAX = 20_000
/** A source that answers takes seconds; one that is cut off would take minutes. */
const RESTORE_MS_MAX = 45_000
const BUILD_MS_MAX = 120_000
const RUN_MS_MAX = 60_000

const ENV = {
  ...process.env,
  DOTNET_CLI_TELEMETRY_OPTOUT: '1',
  DOTNET_NOLOGO: '1',
  DOTNET_GENERATE_ASPNET_CERTIFICATE: 'false',
  // Nothing stays behind.
  DOTNET_CLI_USE_MSBUILD_SERVER: '0',
  MSBUILDDISABLENODEREUSE: '1',
  NUGET_ENHANCED_MAX_NETWORK_TRY_COUNT: '1',
}

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-dotnet-'))
atEnd(async () => rmSync(folder, { recursive: true, force: true }))

/** Of the whole process: a source that was cut off for one program is not waited for again. */
let isCutOff = false

/** Restores and compiles a program of this folder. */
export async function openJudge(program: string): Promise<Judge | LeftOut> {
  const sdk = await run(['--version'], VERSION_MS_MAX)
  if (sdk.code !== 0) return { leftOut: 'there is no .NET SDK' }
  if (Number.parseInt(sdk.out, 10) < SDK_MIN)
    return { leftOut: `the .NET SDK ${sdk.out.trim()} is older than ${SDK_MIN}` }
  if (isCutOff) return { leftOut: 'the package source does not answer' }
  const file = join(import.meta.dirname, program)
  const restored = await run(['restore', file], RESTORE_MS_MAX)
  if (restored.code !== 0) {
    isCutOff = restored.code === null
    return { leftOut: missingPackage(restored) }
  }
  const out = join(folder, basename(program, '.cs'))
  const built = await run(['build', file, '--no-restore', '-o', out], BUILD_MS_MAX)
  if (built.code !== 0) throw new Error(`${program} does not compile:\n${built.out}${built.err}`)
  const assembly = join(out, `${basename(program, '.cs')}.dll`)
  return {
    ask: async <Answer>(args: readonly string[], input = '') => {
      const { code, out: said, err } = await run([assembly, ...args], RUN_MS_MAX, input)
      if (code !== 0) throw new Error(`${program} ended with ${code}:\n${err}\n${said}`)
      return said
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Answer)
    },
  }
}

/** NU1101 and its like: the source lacks it; NU1301: there is no source. */
function missingPackage({ code, out, err }: Ended): string {
  if (code === null) return 'the package source does not answer'
  const [, said] = /error NU1(?:10[0-3]|301): ([^\n]*)/.exec(out + err) ?? []
  if (!said) throw new Error(`the packages cannot be restored:\n${out}${err}`)
  return said.slice(0, 200)
}

interface Ended {
  /** Null: it took too long, or cannot be started. */
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function run(args: readonly string[], msMax: number, input = ''): Promise<Ended> {
  const child = spawn('dotnet', args, {
    env: ENV,
    cwd: folder,
    timeout: msMax,
    killSignal: 'SIGKILL',
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return new Promise((resolve) => {
    const end = (code: number | null) => resolve({ code, out, err })
    child.on('error', () => end(null))
    child.on('close', end)
  })
}
