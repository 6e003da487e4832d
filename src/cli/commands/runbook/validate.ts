// `matoolkit runbook validate`: reports every problem of every file at once, migration rules included. A folder stands for its runbooks.
import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { EXIT } from '../../../base/errors/errors.ts'
import { printable } from '../../../base/text/printable.ts'
import { type Conversion, convertRunbook } from '../../../domain/runbook/convert.ts'
import { RUNBOOK_BYTES_MAX } from '../../../domain/runbook/document.ts'
import {
  type IgnoredProblem,
  type ReadRunbookOptions,
  type RunbookProblem,
  readRunbook,
} from '../../../domain/runbook/read.ts'
import { readStart } from '../../input/files.ts'
import { tableIn } from '../../input/member-rows.ts'
import {
  loadWorkerFunctions,
  type WorkerFunctions,
  type WorkerFunctionsFlags,
} from '../../input/worker-functions.ts'
import { usageError } from '../../program/command-context.ts'
import type { Io } from '../../terminal/io.ts'
import { makeShow, type OutputFormat } from '../../terminal/show.ts'
import { tableText } from '../../terminal/table.ts'

export interface ValidateOptions extends WorkerFunctionsFlags {
  readonly files: readonly string[]
  readonly members?: string
  readonly output?: OutputFormat | 'sarif'
  readonly schema?: true
  /** Convert what the earlier system wrote differently. */
  readonly write?: true
  readonly yes?: true
}

interface Report {
  readonly file: string
  readonly valid: boolean
  readonly errors: number
  readonly warnings: number
  /** What `--write` changes. */
  readonly conversions: readonly Conversion[]
  readonly problems: readonly RunbookProblem[]
  readonly ignored: readonly IgnoredProblem[]
}

/** More than any header; the rest of the member file is not read. */
const HEADER_BYTES_MAX = 262_144
const LF = 10

/** For editors. */
export async function printSchema(io: Io): Promise<void> {
  const { runbookSchema } = await import('../../../domain/runbook/schema.ts')
  const { functions } = await io.packagedFunctions()
  io.out(JSON.stringify(runbookSchema(functions ?? []), null, 2))
}

export async function validateRunbooks(options: ValidateOptions, io: Io): Promise<void> {
  if (options.files.length === 0) throw usageError('Name a runbook file, such as wave.yaml.')
  const columns = options.members === undefined ? undefined : await readHeader(options.members)
  const { files, members, output = 'table', ...flags } = options
  const known = await loadWorkerFunctions(flags, io)
  const catalogues = { catalogues: known.catalogues, isLinted: true }
  const reading = { ...catalogues, ...(columns && { columns }) }
  const all = await runbooksIn(files)
  if (options.write) {
    const { writeConversions } = await import('./convert.ts')
    await writeConversions(all, reading, options, io)
  }
  const reports: Report[] = []
  for (const file of all) reports.push(await reportOn(file, reading))
  const valid = reports.every((report) => report.valid)
  if (output === 'table') printReports(reports, io)
  else if (output === 'sarif') await printSarif(reports, io)
  else await showProblems(output, known.api, reports, io)
  sayUnasked(known, reports, io)
  io.exitCode = valid ? EXIT.ok : EXIT.failed
}

/** The files, and the runbooks in folders and below. */
async function runbooksIn(given: readonly string[]): Promise<string[]> {
  const files: string[] = []
  for (const path of given) {
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) files.push(path)
    else {
      const found = await readdir(path, { recursive: true })
      const runbooks = found.filter((name) => RUNBOOK.test(name)).sort()
      if (runbooks.length === 0) throw usageError(`The folder "${path}" holds no YAML file.`)
      files.push(...runbooks.map((name) => join(path, name)))
    }
  }
  return files
}

/** Hidden folders and dependencies hold YAML of others. */
const RUNBOOK = /^(?!(?:.*[\\/])?(?:\.|node_modules[\\/])).*\.ya?ml$/i

async function reportOn(file: string, reading: ReadRunbookOptions): Promise<Report> {
  // One byte over the limit is enough to report that the file is too large.
  const bytes = await readStart(file, RUNBOOK_BYTES_MAX + 1)
  const { problems, ignored, mends } = readRunbook(bytes, reading)
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const text = mends.length > 0 ? Buffer.from(bytes).toString('utf8') : null
  return {
    file,
    valid: errors === 0,
    errors,
    warnings: problems.length - errors,
    conversions: text === null ? [] : convertRunbook(text, reading).conversions,
    problems,
    ignored,
  }
}

/** A function or parameter that no catalogue has may be one of a worker's own. */
const OF_CATALOGUES: readonly string[] = ['UNKNOWN_FUNCTION', 'UNKNOWN_PARAMETER']

function sayUnasked({ reason }: WorkerFunctions, reports: readonly Report[], io: Io): void {
  const codes = reports.flatMap(({ problems }) => problems.map(({ code }) => code))
  if (reason === null || !codes.some((code) => OF_CATALOGUES.includes(code))) return
  io.err(printable(`note: only the standard functions are known here. ${reason}`))
}

async function showProblems(
  output: OutputFormat,
  api: string | null,
  reports: readonly Report[],
  io: Io,
): Promise<void> {
  const rows = reports.flatMap(({ file, problems }) =>
    problems.map(({ line, column, severity, code, message }) => ({
      file,
      line,
      column,
      severity,
      code,
      message,
    })),
  )
  const names = ['file', 'line', 'column', 'severity', 'code', 'message'] as const
  await makeShow(output, io).list({
    whole: {
      valid: reports.every((report) => report.valid),
      api,
      files: reports,
    },
    rows,
    columns: names.map((name) => [name.toUpperCase(), name] as const),
    empty: '',
  })
}

async function printSarif(reports: readonly Report[], io: Io): Promise<void> {
  const { sarifOf } = await import('./sarif.ts')
  io.out(JSON.stringify(sarifOf(reports), null, 2))
}

function printReports(reports: readonly Report[], io: Io): void {
  for (const { file, problems } of reports) {
    for (const problem of problems) io.out(problemLine(file, problem, io))
  }
  const [first, ...more] = reports
  if (first && more.length === 0) {
    const style = first.valid ? 'green' : 'red'
    io.out(`${printable(first.file)}: ${io.paint(style, verdict(first))}`)
  } else {
    const rows = reports.map((report) => [printable(report.file), verdict(report)])
    io.out(tableText([['FILE', 'RESULT'], ...rows]))
  }
}

function problemLine(file: string, problem: RunbookProblem, io: Io): string {
  const { line, column, severity, code, text, message, link } = problem
  const place = io.paint('bold', printable(`${file}:${line}:${column}:`))
  const kind = io.paint(severity === 'error' ? 'red' : 'yellow', severity)
  const quoted = text === '' ? '' : ` \`${printable(text)}\``
  const more = link === undefined ? '' : ` See ${link}.`
  return `${place} ${kind} ${code}${quoted} ${printable(message)}${more}`
}

function verdict({ valid, errors, warnings, conversions }: Report): string {
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`
  const more = conversions.length > 0 ? `; --write converts ${conversions.length}` : ''
  if (!valid) return `${count(errors, 'error')}, ${count(warnings, 'warning')}${more}`
  return warnings === 0 ? 'valid' : `valid, ${count(warnings, 'warning')}`
}

/** The column names of a member file. */
async function readHeader(file: string): Promise<readonly string[]> {
  const bytes = await readStart(file, HEADER_BYTES_MAX)
  // The limit may cut the last character in two.
  const isCut = bytes.length === HEADER_BYTES_MAX
  const lines = isCut ? bytes.subarray(0, bytes.lastIndexOf(LF) + 1) : bytes
  return tableIn(Buffer.from(lines), file, { onlyHeader: true }).columns
}
