// Member files: what is written is read back, however the bytes arrive, and every other file is refused with its rows, never with an
// exception of another kind.
import { isDeepStrictEqual } from 'node:util'
import { FaultyRequest } from '../../../src/api/http/problem.ts'
import { UploadedFile } from '../../../src/api/http/upload.ts'
import { readMemberFile } from '../../../src/api/services/member-file.ts'
import { CsvReader, csvLine } from '../../../src/base/files/csv.ts'
import { CsvFault } from '../../../src/base/files/csv-text.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { wave } from '../../api/contract/fixtures.ts'
import { HOSTILE_TEXTS, mutatedText } from './mutate.ts'
import { type FuzzTarget, oneOf, type Random, shown } from './target.ts'

const EXAMPLES: readonly string[] = [
  'UserPrincipalName,Aliases,Action,Site,Office\r\nada@x.example,a;b,Do,S,O\r\nbob@x.example,,Do,S,\r\n',
  '\ufeffUpn,Aliases,Action,Site,Office\n"eve, the ""first""",a,"Do\nit",S,O\n\n',
  'UserPrincipalName;Aliases\r\nada;x\r\n',
  'UserPrincipalName,Aliases,Action,Site,Office\n"unclosed',
]
const RECORDS_AT_ONCE = 1_000

export async function openCsv(): Promise<FuzzTarget> {
  const { runbook } = readRunbook(wave())
  return {
    attempt: async (random) => {
      if (random(3) === 0) return writtenAndRead(random)
      const text = mutatedText(random, EXAMPLES)
      const bytes = broken(random, Buffer.from(text))
      const whole = await outcomeOf([bytes])
      const split = await outcomeOf(inParts(random, bytes))
      const areFaults = typeof whole === 'string' && typeof split === 'string'
      // Of two faults, how the bytes arrive decides which is seen first.
      const findings = areFaults ? [whole, split].flatMap(placeFindings) : []
      if (!areFaults && !isDeepStrictEqual(whole, split)) findings.push('read differently in parts')
      const file = new UploadedFile('people.csv', inParts(random, bytes))
      try {
        let read = 0
        const { length, pages } = await readMemberFile(file, runbook!, new AbortController().signal)
        for await (const page of pages()) read += page.length
        if (read !== length) findings.push(`${length} members, then ${read}`)
      } catch (error) {
        if (!(error instanceof FaultyRequest)) throw error
      }
      return findings.map((finding) => `${finding}\n${shown(text)}`)
    },
    close: async () => {},
  }
}

/** Rows and columns count from 1. */
const placeFindings = (fault: string): string[] =>
  /\b(row|line|column|field) 0\b/.test(fault) ? [`a place that is none: ${fault}`] : []

function broken(random: Random, bytes: Buffer): Buffer {
  if (bytes.length > 0 && random(4) === 0) bytes[random(bytes.length)] = random(256)
  return bytes
}

function inParts(random: Random, bytes: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random(random(2) === 0 ? 4 : bytes.length)
    parts.push(bytes.subarray(at, at + size))
    at += size
  }
  return parts
}

/** The records, or the fault. */
async function outcomeOf(parts: readonly Buffer[]): Promise<string[][] | string> {
  const reader = new CsvReader(new UploadedFile('people.csv', parts).open(), { isRagged: true })
  const records: string[][] = []
  try {
    for (;;) {
      const more = await reader.read(RECORDS_AT_ONCE)
      if (more.length === 0) return records
      records.push(...more)
    }
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error
    return error.message
  } finally {
    reader.close()
  }
}

/** A table of any cells, written by us: reading gives the same cells, but for the apostrophes before formulas. */
async function writtenAndRead(random: Random): Promise<string[]> {
  const width = 2 + random(4)
  const cell = () =>
    `${oneOf(random, HOSTILE_TEXTS)}${random(3) === 0 ? oneOf(random, HOSTILE_TEXTS) : ''}`
  const header = Array.from({ length: width }, (_, at) => `column${at}`)
  const rows = Array.from({ length: random(6) }, () => Array.from({ length: width }, cell))
  const usable = rows.filter((row) =>
    row.every((value) => value.isWellFormed() && !value.includes('\0')),
  )
  const text = [header, ...usable].map(csvLine).join('')
  const read = await outcomeOf(inParts(random, Buffer.from(text)))
  if (typeof read === 'string') return [`refused: ${read}\n${shown(text)}`]
  const plainOf = (cells: readonly string[]) => cells.map((value) => value.replaceAll("'", ''))
  return isDeepStrictEqual(read.map(plainOf), [header, ...usable].map(plainOf))
    ? []
    : [`not read as written\n${shown(text)}\n${shown(JSON.stringify(read))}`]
}
