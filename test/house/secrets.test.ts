// No secret lies in the repository: every file is searched for the forms that keys, tokens and passwords have. What only looks like one
// is listed with its reason.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ROOT } from '../kit/processes.ts'

const PATTERNS: Readonly<Record<string, RegExp>> = {
  'a private key': /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s*[A-Za-z0-9+/=\s]{100,}/,
  'a token of GitHub': /\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{60,})\b/,
  'a token of npm': /\bnpm_[A-Za-z0-9]{36}\b/,
  'a key of AWS': /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  'a key of Google': /\bAIza[0-9A-Za-z_-]{35}\b/,
  'a token of Slack': /\bxox[abprs]-[0-9A-Za-z-]{20,}/,
  'a token of Databricks': /\bdapi[0-9a-f]{32}\b/,
  'a secret of an Entra application': /\b[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}/,
  'a key of Azure': /(?:AccountKey|SharedAccessKey|sig)=[A-Za-z0-9+/%]{40,}={0,2}/,
  'a signed token': /\beyJ[\w-]{15,}\.eyJ[\w-]{15,}\.[\w-]{40,}/,
  'a password in an address': /\b[a-z][a-z0-9+]*:\/\/[^\s:/@$'"`<{]+:[^\s@$'"`<{*[]{6,}@[\w.-]+/,
}

/** Path and text of what only looks like a secret. */
const KNOWN: readonly (readonly [path: RegExp, text: RegExp])[] = [
  // The form of an address, for people.
  [/./, /^postgres:\/\/user:password@host$/],
  // A wrong scheme.
  [/^test\/base\/settings\/config\.test\.ts$/, /^mysql:\/\/u:hunter2@h$/],
]

const BYTES_MAX = 3_000_000

function secretsIn(path: string, text: string): string[] {
  return Object.entries(PATTERNS).flatMap(([what, pattern]) =>
    [...text.matchAll(new RegExp(pattern, 'g'))]
      .filter(([found]) => !KNOWN.some(([of, like]) => of.test(path) && like.test(found)))
      .map(([found]) => `${path}: ${what}: ${found.slice(0, 80)}`),
  )
}

describe('the repository', () => {
  it('holds no secret', () => {
    const { stdout } = spawnSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
    const paths = stdout.split('\0').filter(Boolean)
    assert.ok(paths.length > 500)
    const found = paths.flatMap((path) => {
      const file = join(ROOT, path)
      const isSmall =
        statSync(file, { throwIfNoEntry: false })?.isFile() && statSync(file).size < BYTES_MAX
      return isSmall ? secretsIn(path, readFileSync(file, 'latin1')) : []
    })
    assert.deepEqual(found, [])
  })

  it('would be searched in vain by no pattern', () => {
    const letters = 'aB3'.repeat(40)
    const planted: Readonly<Record<string, string>> = {
      'a private key': `-----BEGIN RSA PRIVATE ${'KEY-----'}\n${letters}`,
      'a token of GitHub': `ghp_${letters.slice(0, 36)}`,
      'a token of npm': `npm_${letters.slice(0, 36)}`,
      'a key of AWS': `AKIA${'A1'.repeat(8)}`,
      'a key of Google': `AIza${letters.slice(0, 35)}`,
      'a token of Slack': `xoxb-${letters.slice(0, 24)}`,
      'a token of Databricks': `dapi${'0a'.repeat(16)}`,
      'a secret of an Entra application': `abc8Q~${letters.slice(0, 34)}`,
      'a key of Azure': `AccountKey=${letters.slice(0, 44)}`,
      'a signed token': `eyJ${letters.slice(0, 20)}.eyJ${letters.slice(0, 20)}.${letters.slice(0, 43)}`,
      'a password in an address': `postgres://app:${letters.slice(0, 12)}@db.example`,
    }
    assert.deepEqual(Object.keys(planted), Object.keys(PATTERNS))
    for (const [what, text] of Object.entries(planted)) {
      const found = secretsIn('planted.ts', `x = '${text}'`)
      assert.ok(
        found.some((line) => line.startsWith(`planted.ts: ${what}`)),
        what,
      )
    }
  })
})
