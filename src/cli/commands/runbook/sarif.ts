// The problems of runbooks as SARIF 2.1.0, the format of code scanning. Ignored warnings are listed as suppressed, with their reason.
import { isAbsolute } from 'node:path'
import manifest from '../../../../package.json' with { type: 'json' }
import type { Json } from '../../../base/text/json.ts'
import { isLintRule, LINT_RULES } from '../../../domain/runbook/lint/lint-rules.ts'
import { PROBLEMS, type ProblemCode } from '../../../domain/runbook/problems.ts'
import type { IgnoredProblem, RunbookProblem } from '../../../domain/runbook/read.ts'

export interface ScannedFile {
  readonly file: string
  readonly problems: readonly RunbookProblem[]
  readonly ignored: readonly IgnoredProblem[]
}

export function sarifOf(files: readonly ScannedFile[]): Json {
  const codes = [...new Set(files.flatMap(({ problems, ignored }) => [...problems, ...ignored]))]
    .map(({ code }) => code)
    .filter((code, at, all) => all.indexOf(code) === at)
    .toSorted()
  const driver = { name: 'matoolkit', version: manifest.version, rules: codes.map(ruleOf) }
  const results = files.flatMap(({ file, problems, ignored }) => [
    ...problems.map((problem) => resultOf(file, problem, codes)),
    ...ignored.map((problem) => ({
      ...resultOf(file, problem, codes),
      suppressions: [{ kind: 'inSource', justification: problem.reason }],
    })),
  ])
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver }, columnKind: 'utf16CodeUnits', results }],
  }
}

function ruleOf(code: ProblemCode): Record<string, Json> {
  if (!isLintRule(code)) {
    const { severity, sentence } = PROBLEMS[code]
    const text = withoutBlanks(sentence)
    return { id: code, shortDescription: { text }, defaultConfiguration: { level: severity } }
  }
  const { sentence, why, better } = LINT_RULES[code]
  return {
    id: code,
    shortDescription: { text: withoutBlanks(sentence) },
    fullDescription: { text: why },
    help: { text: `${why} ${better}`, markdown: `${why}\n\n${better}` },
    defaultConfiguration: { level: 'warning' },
  }
}

/** The name of a blank instead of its value. */
const withoutBlanks = (sentence: string): string =>
  sentence.replaceAll(/\{([a-z]+)\}/g, '<$1>').trim()

function resultOf(
  file: string,
  { code, severity, line, column, text, message, path }: RunbookProblem,
  codes: readonly ProblemCode[],
): Record<string, Json> {
  const region = {
    startLine: line,
    startColumn: column,
    ...(text !== '' && { snippet: { text } }),
  }
  return {
    ruleId: code,
    ruleIndex: codes.indexOf(code),
    level: severity,
    message: { text: message },
    locations: [{ physicalLocation: { artifactLocation: { uri: uriOf(file) }, region } }],
    // The place in the runbook, so that a problem is the same one after lines were added above it.
    partialFingerprints: { 'runbookPath/v1': `${code}:${path}` },
  }
}

/** Relative to the folder of the command, with forward slashes. */
function uriOf(file: string): string {
  const path = file.replaceAll('\\', '/').split('/').map(encodeURIComponent).join('/')
  return isAbsolute(file) ? `file://${path}` : path
}
