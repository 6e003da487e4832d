// Runbooks: every text is read without an exception and quickly, the same way twice, and every problem names a place in the file.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { M365_CATALOGUE } from '../../../src/m365/catalogue.ts'
import { plain, wave } from '../../api/contract/fixtures.ts'
import { mutatedText, mutatedValue } from './mutate.ts'
import { cpuMs, type FuzzTarget, oneOf, type Random, shown } from './target.ts'

const root = join(import.meta.dirname, '../../..')
const inFolder = (folder: string): string[] =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => readFileSync(join(root, folder, file), 'utf8'))

/** A runbook has at most 1 MB, and an ordinary one of that size takes a quarter of a second. */
const SLOW_MS = 4_000
/** More than a terminal shows. */
const MESSAGE_CHARS_MAX = 5_000

/** What only YAML has. */
const YAML_TOKENS: readonly string[] = [
  '&a ',
  '*a',
  '!!binary ',
  '!!set ',
  '!<x> ',
  '<<: *a',
  '? ',
  '- ',
  '|\n',
  '>-\n',
  '|9\n',
  '%YAML 1.1\n',
  '---\n',
  '...\n',
  '# matoolkit-ignore ',
  '# x\n',
  '[',
  '{',
  ']',
  '}',
  ': ',
  '@',
  '`',
  '!!js/function ',
]

export async function openYaml(): Promise<FuzzTarget> {
  const examples = [...inFolder('examples'), ...inFolder('test/fixtures'), plain(), wave()]
  const trees = examples.map((text): unknown => parse(text))
  const insertToken = (random: Random, text: string): string => {
    const at = random(text.length + 1)
    return text.slice(0, at) + oneOf(random, YAML_TOKENS) + text.slice(at)
  }
  return {
    attempt: async (random) => {
      const text =
        random(4) === 0
          ? stringify(mutatedValue(random, oneOf(random, trees)))
          : mutatedText(random, examples, [insertToken, insertToken])
      return findingsOf(random(8) === 0 ? broken(random, text) : text)
    },
    close: async () => {},
  }
}

/** The bytes of the text, one of them another. */
function broken(random: Random, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text)
  if (bytes.length > 0) bytes[random(bytes.length)] = random(256)
  return bytes
}

function findingsOf(input: string | Uint8Array): string[] {
  const text = typeof input === 'string' ? input : new TextDecoder().decode(input)
  const findings: string[] = []
  let first: ReturnType<typeof readRunbook> | undefined
  const ms = cpuMs(() => {
    first = readRunbook(input, { catalogues: [M365_CATALOGUE], isLinted: true })
  })
  const { runbook, problems } = first!
  if (ms > SLOW_MS) findings.push(`took ${Math.round(ms)} ms`)
  const lines = text.split('\n').length
  for (const problem of problems) {
    if (problem.line < 1 || problem.line > lines || problem.column < 1)
      findings.push(`${problem.code} is at ${problem.line}:${problem.column} of ${lines} lines`)
    const { length } = problem.message
    if (length === 0 || length > MESSAGE_CHARS_MAX)
      findings.push(`${problem.code} says ${length} characters`)
  }
  const hasErrors = problems.some(({ severity }) => severity === 'error')
  if (hasErrors !== (runbook === null)) findings.push('a runbook with errors, or none without')
  const again = readRunbook(input, { catalogues: [M365_CATALOGUE], isLinted: true })
  if (JSON.stringify(again) !== JSON.stringify(first)) findings.push('read differently twice')
  return findings.map((finding) => `${finding}\n${shown(text)}`)
}
