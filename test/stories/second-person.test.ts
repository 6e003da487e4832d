// On one machine: the person who published cannot approve, a second person can, and everybody reads who it was.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { EXIT } from '../../src/base/errors/errors.ts'
import { openCli } from '../cli/against-api.ts'
import { runbook, step } from './looking.ts'

it('an approval is tried on one machine: refused for the publisher, counted for the second person', async () => {
  const cli = await openCli()
  try {
    const { world } = cli.api
    const gated = { 'cutover T-0 gate: { approvals: 1 }': [step('switch')] }
    const file = cli.file('wave.yaml', runbook('wave', gated))
    const published = await cli.cli('runbook', 'publish', file, '--yes', '--reason', 'first')
    assert.equal(published.exit, EXIT.ok, published.err)
    await world.batch('wave', 2, { startsInMin: 60 })
    const approve = ['batch', 'approve', '1', 'cutover', '--reason', 'checked']
    const own = await cli.cli(...approve)
    assert.notEqual(own.exit, EXIT.ok)
    assert.match(
      own.err,
      /published version 1 of wave, so another person must approve phase cutover/,
    )
    assert.match((await cli.cli('status')).out, /^Action needed: Phase cutover .*0 of 1 approvals/)
    const second = await cli.cli(...approve, '--second-person')
    assert.equal(second.exit, EXIT.ok, second.err)
    assert.match(
      (await cli.cli('batch', 'get', '1', '--gates')).out,
      /approval by .*, second person: checked/,
    )
    assert.match((await cli.cli('status')).out, /^No action needed/)
    assert.match((await cli.cli('audit', 'list')).out, /, second person +gate\.approve/)
    await world.pass(3_600)
    assert.equal(world.jobs.filter(({ functionName }) => functionName === 'switch').length, 2)
  } finally {
    await cli.close()
  }
})
