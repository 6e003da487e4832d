import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  ERRORS,
  type ErrorCode,
  type ErrorRow,
  EXIT,
  MatoolkitError,
  messageOf,
} from '../../../src/base/errors/errors.ts'

const root = join(import.meta.dirname, '../../..')
const CODES = Object.keys(ERRORS) as ErrorCode[]

/** How a piece of advice begins. A new verb is welcome here; a sentence without advice is not. */
const DIRECTION =
  /^(or |and |then )?(add|ask|cancel|cast|change|check|choose|close|confirm|correct|create|delete|give|install|list|look|make|move|name|open|please|publish|read|remove|repeat|report|restore|resume|retry|run|see|send|set|shorten|show|sign|split|start|stop|try|turn|use|wait|write)\b/i

/** A code with the literal of its details, or without details; details from elsewhere are not looked at. */
const THROWN = /new MatoolkitError\(\s*'([A-Z_0-9]+)'(?:,\s*(\{[^;]*?\}),?\s*(?:\)|\{)|\s*\))/g

describe('the table of errors', () => {
  for (const code of CODES) {
    const { http, exit, sentence }: ErrorRow = ERRORS[code]

    it(`${code} is well formed`, () => {
      assert.match(code, /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/)
      assert.ok(http >= 400 && http <= 599, `HTTP status ${http}`)
      assert.ok(Object.values<number>(EXIT).includes(exit) && exit !== EXIT.ok, `exit code ${exit}`)
      assert.match(sentence, /\.$/, 'a sentence ends with a full stop')
      assert.match(sentence, /^[A-Z{"]/, 'a sentence begins with a capital')
      assert.doesNotMatch(
        sentence,
        /\{(?!\w+(?: \w+s)?\})|(?<!\{\w+(?: \w+s)?)\}/,
        'placeholders are {word} or {count words}',
      )
    })

    it(`${code} says what to do next`, () => {
      const parts = sentence.split(/(?<=[.;:,}]) /)
      // What the engine refuses has a reason for each case; general advice behind it was wrong as often as right.
      assert.ok(
        code === 'REFUSED' || parts.some((part) => DIRECTION.test(part)),
        `no advice in: ${sentence}`,
      )
    })
  }

  it('has no row that nothing raises', () => {
    const text = globSync('src/**/*.ts', { cwd: root })
      .map((file) => readFileSync(join(root, file), 'utf8'))
      .join('\n')
    assert.deepEqual(
      CODES.filter((code) => !text.includes(`'${code}'`)),
      [],
    )
  })

  it('has no code twice: a later row would replace an earlier one unseen', () => {
    const written = globSync('src/base/errors/*.ts', { cwd: root }).flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/^ {2}([A-Z_0-9]+): \{$/gm)].map(
        ([, code]) => code!,
      ),
    )
    assert.deepEqual(written.sort(), CODES.toSorted())
  })

  it('exit codes are all different', () => {
    const codes = Object.values(EXIT)
    assert.equal(new Set(codes).size, codes.length)
  })
})

describe('an error', () => {
  it('has one full stop after a reason that is a sentence itself', () => {
    const said = (reason: string) =>
      new MatoolkitError('MEMBER_ROWS_INVALID', {
        file: 'f',
        count: 1,
        row: 2,
        column: 'c',
        reason,
      }).message
    assert.match(said('it is empty'), /c: it is empty\. Correct/)
    assert.match(said('It is empty.'), /c: It is empty\. Correct/)
  })

  it('fills its sentence from the details and carries status, exit code and cause', () => {
    const cause = new Error('refused')
    const error = new MatoolkitError('DATABASE_UNREACHABLE', { reason: 'refused' }, { cause })
    assert.match(error.message, /^The database does not answer: refused\. /)
    assert.deepEqual(
      [error.code, error.httpStatus, error.exitCode, error.cause],
      ['DATABASE_UNREACHABLE', 503, EXIT.unavailable, cause],
    )
  })

  it('leaves a placeholder without a detail as it is, and never reads inherited names', () => {
    assert.match(new MatoolkitError('DATABASE_UNREACHABLE').message, /\{reason\}/)
  })

  it('gets every detail that its sentence names, wherever it is thrown', () => {
    const files = globSync('{src,test/simulation}/**/*.ts', { cwd: root })
    const thrown = files.flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(THROWN)].map(
        ([, code, details]) => [file, code as ErrorCode, details ?? ''] as const,
      ),
    )
    assert.ok(thrown.length > 100, 'the pattern finds the places')
    const missing = thrown.flatMap(([file, code, details]) =>
      [...ERRORS[code].sentence.matchAll(/\{(\w+)/g)]
        .filter(([, name]) => !new RegExp(`\\b${name}\\b|\\.\\.\\.`).test(details))
        .map(([, name]) => `${file}: ${code} lacks ${name}`),
    )
    assert.deepEqual(missing, [])
  })

  it('keeps a detail that looks like a placeholder as it is', () => {
    const { message } = new MatoolkitError('SCHEMA_NEWER', {
      found: '{known}',
      known: 3,
      lowest: 4,
    })
    assert.match(message, /schema version \{known\},.* this one has 3\./)
  })

  it('messageOf reads anything that can be thrown', () => {
    assert.equal(messageOf(new Error('a')), 'a')
    assert.equal(messageOf('b'), 'b')
    assert.equal(messageOf(undefined), 'undefined')
  })
})
