// The earlier system's command line: what works, what is translated, and what is answered with the command to write now.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fromEarlierNames } from '../../../src/cli/program/earlier-names.ts'

const GUIDE = join(import.meta.dirname, '../../../docs/coming-from-the-earlier-system.md')

const translate = (line: string) => {
  const said: string[] = []
  const args = fromEarlierNames(line.split(' '), (sentence) => said.push(sentence))
  return { line: args.join(' '), said }
}

const TRANSLATED: readonly (readonly [earlier: string, now: string, said: string])[] = [
  ['runbook ls', 'runbook list', '"runbook ls" is now "matoolkit runbook list".'],
  ['batch ls', 'batch list', '"batch ls" is now "matoolkit batch list".'],
  ['runbook get wave -v 2', 'runbook get wave --version 2', '"-v" is now "--version".'],
  ['runbook delete wave 2 -f', 'runbook delete wave 2 --yes', '"-f" is now "--yes".'],
  ['query preview wave -j', 'query preview wave --output=json', '"-j" is now "--output=json".'],
  ['batch list -r wave', 'batch list --runbook wave', '"-r" is now "--runbook".'],
  ['batch ls -s active', 'batch list --status active', '"-s" is now "--status".'],
  ['batch cancel 1 --force', 'batch cancel 1 --yes', '"--force" is now "--yes".'],
  ['batch remove-member 1 2 -f', 'batch remove-member 1 2 --yes', '"-f" is now "--yes".'],
  ['batch steps 1 -p cutover', 'batch steps 1 --phase cutover', '"-p" is now "--phase".'],
  ['batch get 1 -u http://x', 'batch get 1 --api-url http://x', '"-u" is now "--api-url".'],
  ['auth login --use-device-code', 'auth login', '"--use-device-code" is not needed any more.'],
]

const REFUSED: readonly (readonly [earlier: string, says: RegExp])[] = [
  ['batch advance 1 --auto', /Run "matoolkit batch advance ID --wait" once per phase/],
  ['query preview wave -l 5', /A preview shows its first rows/],
  ['batch advance 1 -a', /"--auto" is gone/],
  ['runbook publish wave.yaml -n wave', /Run "matoolkit runbook publish FILE" without "-n"/],
  ['runbook get wave -o wave.yaml', /matoolkit runbook get NAME > FILE/],
  ['template download wave -o wave.csv', /matoolkit template download RUNBOOK --file FILE/],
]

/** The same today: nothing is translated. */
const SAME = [
  'batch',
  '--version',
  'runbook publish wave.yaml --force',
  'runbook get wave -o yaml',
  'template download wave --force',
  'batch list --status active -o json',
  'batch skip 1 -- -f',
  'batch cancel 1 -- -f',
  'runbook versions wave',
  'automation enable wave',
  'batch create wave people.csv',
  'batch members 1',
  'batch add-members 1 people.csv',
  'batch phases 1',
  'config path',
]

describe("the earlier system's command line", () => {
  for (const [earlier, now, said] of TRANSLATED) {
    it(`${earlier} is ${now}`, () => {
      const translated = translate(earlier)
      assert.equal(translated.line, now)
      assert.equal(translated.said.at(-1), said)
    })
  }
  for (const [earlier, says] of REFUSED) {
    it(`${earlier} is answered with the command to write`, () => {
      assert.throws(() => translate(earlier), says)
    })
  }
  it('is documented flag by flag', () => {
    const guide = readFileSync(GUIDE, 'utf8')
    const flags = [...TRANSLATED, ...REFUSED].flatMap(([earlier]) =>
      earlier.split(' ').filter((word) => word === 'ls' || /^--?[a-z]/.test(word)),
    )
    assert.deepEqual(
      flags.filter((flag) => !guide.includes(flag)),
      [],
    )
  })
  for (const line of SAME) {
    it(`${line} stays as it is`, () => assert.deepEqual(translate(line), { line, said: [] }))
  }
})
