// Runs the test files of one process, each as a suite of its own, so that hooks, settings and the working folder of one do not reach
// the next. Notes what each cost.
import './at-end.ts'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { cpuSec, noteTimes } from './times.ts'
import { takeMisfits } from './typed-rows.ts'

export function runFiles(paths: readonly string[], timesFile: string): void {
  const files: Record<string, number> = {}
  for (const path of paths) {
    describe(path, async () => {
      const started = { cpuSec: 0, env: { ...process.env }, folder: process.cwd() }
      before(() => {
        Object.assign(started, { cpuSec: cpuSec(), env: { ...process.env } })
      })
      try {
        await import(pathToFileURL(path).href)
      } catch (error) {
        it('can be loaded', () => {
          throw error
        })
      }
      after(() => {
        files[path] = cpuSec() - started.cpuSec
        process.chdir(started.folder)
        for (const name of Object.keys(process.env))
          if (!(name in started.env)) delete process.env[name]
        Object.assign(process.env, started.env)
        assert.deepEqual(takeMisfits(), [], 'statements and the types of their rows')
      })
    })
  }
  process.on('exit', () => noteTimes(timesFile, { cpuSec: cpuSec(), files }))
}
