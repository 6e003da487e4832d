// Messages to people: everybody is told once in their language; a new date gives one correction to those who were told and none to others.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { holdBatch, rescheduleBatch, resumeBatch } from '../../src/engine/batch-actions.ts'
import { removeMembers } from '../../src/engine/member-actions.ts'
import { moveMember } from '../../src/engine/moves.ts'
import { because, calls, order, phasesOf, step, stepsOf, waitsOf } from './looking.ts'
import { DAY, inDays, person, wave } from './message-wave.ts'
import { type Job, POLL, RETRY, story, type World } from './world.ts'

/** The batch starts in 14 days, and what is due is done: its members have been told. */
async function toldWave(world: World, people = [person('ada')], yaml = wave()): Promise<number> {
  await world.publish(yaml)
  const batchId = await world.batch('wave', people, { startsInMin: 14 * DAY })
  await world.settle()
  return batchId
}

const redate = ({ engine }: World, batchId: number, days: number) =>
  rescheduleBatch(engine, { ...order(batchId), startTime: inDays(days), allowOverdue: false })

const mailsOf = (jobs: readonly Job[]) =>
  jobs.filter(({ functionName }) => functionName === 'Send-Message')

/** `ada notice en`, a line per message. */
const mails = ({ jobs }: World, after = 0) =>
  mailsOf(jobs)
    .slice(after)
    .map(
      ({ parameters: { To, Message, Language } }) =>
        `${String(To).split('@')[0]} ${Message} ${Language}`,
    )

const bodies = ({ jobs }: World, after = 0) =>
  mailsOf(jobs)
    .slice(after)
    .map(({ parameters }) => parameters.Body)

const told = async ({ db }: World) =>
  (
    await db.query<{ line: string }>(
      `select batch_id || ' ' || message || coalesce(' from ' || from_batch_id, '') || case when is_current then ' *' else '' end as line
         from told_messages order by id`,
    )
  ).map(({ line }) => line)

it('tells everybody once, each in their language', () =>
  story({}, async (world) => {
    const people = [person('ada', 'de-AT'), person('<b>&kim', 'fr'), person('lee', null)]
    await toldWave(world, people)
    assert.deepEqual(mails(world), ['ada notice de', '<b>&kim notice en', 'lee notice en'])
    const [ada, kim] = world.jobs
    assert.equal(ada!.parameters.Subject, 'Ihr Umzug, ada')
    assert.equal(ada!.parameters.Body, '<p>ada: Montag, 16. März 2026, 09:00 MEZ</p>')
    assert.equal(kim!.parameters.Body, '<p>&lt;b&gt;&amp;kim: Monday, 16 March 2026, 09:00 CET</p>')
    assert.equal(kim!.parameters.Subject, 'Your move, <b>&kim')
    await world.pass(86_400)
    assert.equal(world.jobs.length, 3)
    assert.deepEqual(await told(world), ['1 notice *', '1 notice *', '1 notice *'])
  }))

it('a new date: one correction with the last date, to those who were told', () =>
  story({}, async (world) => {
    const batchId = await toldWave(world)
    const later = await world.batch('wave', [person('lee')], { startsInMin: 30 * DAY })
    await world.settle()
    assert.deepEqual(mails(world), ['ada notice en'])
    await redate(world, batchId, 20)
    await redate(world, batchId, 21)
    await redate(world, later, 31)
    await world.settle()
    assert.deepEqual(mails(world, 1), ['ada moved en'])
    assert.deepEqual(bodies(world, 1), ['Not Monday, 16 March 2026 but Monday, 23 March 2026'])
    // Again: from the date that was told last.
    await redate(world, batchId, 22)
    await world.settle()
    await world.pass(60)
    assert.deepEqual(bodies(world, 2), ['Not Monday, 23 March 2026 but Tuesday, 24 March 2026'])
    assert.equal(new Set(world.jobs.map(({ parameters }) => parameters.MessageId)).size, 3)
    assert.deepEqual(await told(world), ['1 notice', '1 moved', '1 moved *'])
    assert.deepEqual(await phasesOf(world, batchId), [
      'announce completed 1: 1 passed',
      'prepare pending 0',
      'remind pending 0',
      'cutover pending 0',
    ])
  }))

it('who was told twice gets one correction, and the reminder tells the new date', () =>
  story({}, async (world) => {
    const batchId = await toldWave(world)
    await world.pass(11 * DAY * 60)
    assert.deepEqual(mails(world), ['ada notice en', 'ada notice en'])
    await redate(world, batchId, 20)
    await world.settle()
    assert.deepEqual(mails(world, 2), ['ada moved en'])
    await world.pass(9 * DAY * 60)
    assert.equal(mails(world).length, 3)
    assert.deepEqual(
      calls(world).filter((call) => !call.startsWith('Send')),
      ['sync ada', 'switch ada'],
    )
  }))

it('back to the told date before the correction is sent: none', () =>
  story({}, async (world) => {
    const batchId = await toldWave(world)
    await holdBatch(world.engine, order(batchId))
    await redate(world, batchId, 20)
    await world.settle()
    assert.deepEqual(mails(world, 1), [])
    await redate(world, batchId, 14)
    await resumeBatch(world.engine, order(batchId))
    await world.settle()
    assert.deepEqual(mails(world, 1), [])
    assert.deepEqual(await because(world, 'need_no_correction'), [
      'the start is again the one that the member was told',
    ])
    assert.deepEqual(await told(world), ['1 notice *'])
    // The correction of a later date is not lost.
    await redate(world, batchId, 21)
    await world.settle()
    assert.deepEqual(mails(world, 1), ['ada moved en'])
  }))

it('a message that is on its way while the date changes is corrected after it', () =>
  story({}, async (world) => {
    await world.publish(wave())
    const batchId = await world.batch('wave', [person('ada')], { startsInMin: 14 * DAY })
    await world.orchestrate()
    await redate(world, batchId, 20)
    await world.settle()
    assert.deepEqual(mails(world), ['ada notice en', 'ada moved en'])
    await world.pass(60)
    assert.equal(world.jobs.length, 2)
  }))

it('a message that failed told nobody; its retry tells the new date', () =>
  story({}, async (world) => {
    world.answer = () => ({ fail: 'the mailbox is full' })
    const batchId = await toldWave(world, [person('ada')], wave(step('sync'), `, ${RETRY}`))
    await redate(world, batchId, 20)
    world.answer = () => ({ ok: true })
    await world.pass(60)
    assert.deepEqual(mails(world), ['ada notice en', 'ada notice en'])
    assert.match(String(bodies(world)[1]), /22 March 2026/)
    assert.deepEqual(await told(world), ['1 notice *'])
  }))

it('a correction that fails is retried as a correction', () =>
  story({}, async (world) => {
    const batchId = await toldWave(world, [person('ada')], wave(step('sync'), `, ${RETRY}`))
    world.answer = () => ({ fail: 'the mailbox is full' })
    await redate(world, batchId, 20)
    await world.settle()
    world.answer = () => ({ ok: true })
    await world.pass(60)
    assert.deepEqual(mails(world, 1), ['ada moved en', 'ada moved en'])
    const [, first, second] = world.jobs
    assert.equal(first!.parameters.MessageId, second!.parameters.MessageId)
    assert.deepEqual(await told(world), ['1 notice', '1 moved *'])
  }))

it('a member who moves to another date is told; one who leaves is not', () =>
  story({}, async (world) => {
    const from = await toldWave(world, [person('ada'), person('lee')])
    const to = await world.batch('wave', [person('kim')], { startsInMin: 30 * DAY })
    const [ada, lee] = (
      await world.db.query<{ id: number }>('select id from batch_members order by id')
    ).map(({ id }) => id)
    await moveMember(world.engine, { ...order(from), memberId: ada!, toBatchId: to })
    await removeMembers(world.engine, { ...order(from), memberIds: [lee!] })
    await world.settle()
    assert.deepEqual(mails(world, 2), ['ada moved en'])
    assert.deepEqual(bodies(world, 2), ['Not Monday, 16 March 2026 but Wednesday, 1 April 2026'])
    await redate(world, from, 20)
    await world.settle()
    assert.equal(mails(world).length, 3)
    assert.deepEqual(await told(world), ['1 notice', '1 notice *', '2 notice from 1', '2 moved *'])
    // The phase of the new batch tells those who are new, and ada nothing twice.
    await world.pass(16 * DAY * 60)
    assert.deepEqual(mails(world, 3), ['kim notice en'])
  }))

it('goes between two polls, and the poll continues', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) =>
      functionName === 'sync' ? { ok: { complete: false } } : { ok: true }
    const batchId = await toldWave(world, [person('ada')], wave(step('sync', POLL)))
    await world.pass(7 * DAY * 60)
    assert.deepEqual(calls(world, 1), ['sync ada'])
    await redate(world, batchId, 20)
    await world.orchestrate()
    assert.deepEqual(await waitsOf(world), ['tell job 3720', 'sync poll 60'])
    // The poll falls due while the message is out.
    await world.clock.advance(60_000)
    await world.orchestrate()
    assert.deepEqual(await waitsOf(world), ['tell job 3660', 'sync poll 30'])
    await world.settle()
    assert.deepEqual(mails(world, 1), ['ada moved en'])
    world.answer = () => ({ ok: true })
    await world.pass(60)
    const [member] = await world.db.query<{ id: number }>('select id from batch_members')
    assert.deepEqual((await stepsOf(world, member!.id)).slice(0, 2), [
      'tell succeeded',
      'sync succeeded',
    ])
  }))
