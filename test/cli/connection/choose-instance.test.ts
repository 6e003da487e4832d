import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseInstance, type Place } from '../../../src/cli/connection/choose-instance.ts'
import type { Instance } from '../../../src/cli/connection/instances.ts'

const at = (folder: string, port: number): Instance => ({
  folder,
  url: `http://127.0.0.1:${port}`,
  pid: port,
  tokenFile: `${folder}/.matoolkit/api-token`,
  startedAt: `2030-03-01T20:00:${port % 60}.000Z`,
})
const [one, two, inner] = [at('/w/one', 7421), at('/w/two', 7422), at('/w/one/inner', 7423)]
const oneToo = at('/w/one', 7424)

const CASES: [
  title: string,
  running: Instance[],
  place: Place,
  port: number | null,
  notice: RegExp,
  doubt: RegExp | null,
][] = [
  ['none runs', [], place('/w/one'), null, /^$/, null],
  ['the only one, from its folder', [one], place('/w/one', '/w/one'), 7421, /^$/, null],
  ['the only one, from anywhere', [one], place('/elsewhere'), 7421, /^$/, null],
  [
    'the folder decides',
    [two, one],
    place('/w/one/sub/deep', '/w/one'),
    7421,
    /^Using the instance in \/w\/one, port 7421; 2 run here\.$/,
    null,
  ],
  ['the nearest folder decides', [one, inner], place('/w/one/inner/x'), 7423, /port 7423/, null],
  [
    'a folder that only begins alike does not match',
    [two, one],
    place('/w/one-more'),
    7422,
    /^Reading from the instance in \/w\/two, port 7422: 2 instances run, none of them in this folder\./,
    /--instance 7422 \(\/w\/two\) or --instance 7421 \(\/w\/one\)$/,
  ],
  [
    'two in one folder',
    [oneToo, two, one],
    place('/w/one'),
    7424,
    /^Reading from /,
    /^2 instances were started in this folder\. Add --instance 7424 \(\/w\/one\) or --instance 7421 \(\/w\/one\)$/,
  ],
  [
    'the instance of this folder is stopped, and another one runs elsewhere',
    [two],
    place('/w/one', '/w/one'),
    7422,
    /^Reading from the instance in \/w\/two/,
    /^the instance of \/w\/one does not run\. Add --instance 7422 \(\/w\/two\)$/,
  ],
]

function place(folder: string, ownFolder: string | null = null): Place {
  return { folder, ownFolder }
}

describe('the instance that a command means', () => {
  for (const [title, running, where, port, notice, doubt] of CASES) {
    it(title, () => {
      const chosen = chooseInstance(running, where)
      assert.equal(chosen && Number(new URL(chosen.instance.url).port), port)
      assert.match(chosen?.notice ?? '', notice)
      if (doubt === null) assert.equal(chosen?.doubt ?? null, null)
      else assert.match(chosen?.doubt ?? '', doubt)
    })
  }
})
