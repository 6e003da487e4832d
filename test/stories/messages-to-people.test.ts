// Messages to people: everybody is told once in their language; a new date gives one correction to those who were told and none to others.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  cancelBatch,
  holdBatch,
  rescheduleBatch,
  resumeBatch,
} from '../../src/engine/orders/batch-actions.ts'
import {
  readmitMembers,
  removeMembers,
  retryMembers,
} from '../../src/engine/orders/member-actions.ts'
import { because, calls, moveMember, order, phasesOf, step, stepsOf, waitsOf } from './looking.ts'
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
         from sent_messages order by id`,
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

const firstMember = async ({ db }: World) =>
  (await db.query<{ id: number }>('select id from batch_members order by id'))[0]!.id

it('who is removed while the correction waits gets none; who comes back gets one, with the date of now', () =>
  story({}, async (world) => {
    const batchId = await toldWave(world, [person('ada'), person('lee')])
    const ada = await firstMember(world)
    await holdBatch(world.engine, order(batchId))
    await redate(world, batchId, 20)
    await world.settle()
    await removeMembers(world.engine, { ...order(batchId), memberIds: [ada] })
    await resumeBatch(world.engine, order(batchId))
    await world.settle()
    assert.deepEqual(mails(world, 2), ['lee moved en'])
    await redate(world, batchId, 21)
    await readmitMembers(world.engine, { ...order(batchId), memberIds: [ada], event: 'readd' })
    await world.settle()
    assert.deepEqual(mails(world, 3).toSorted(), ['ada moved en', 'lee moved en'])
    assert.ok(bodies(world, 3).every((body) => /but Monday, 23 March 2026$/.test(String(body))))
    await world.pass(21 * DAY * 60)
    // The reminder, once each.
    assert.deepEqual(mails(world, 5).toSorted(), ['ada notice en', 'lee notice en'])
  }))

it('a cancelled batch tells nobody: not what was owed, nor that the move is off', () =>
  story({}, async (world) => {
    const batchId = await toldWave(world)
    await holdBatch(world.engine, order(batchId))
    await redate(world, batchId, 20)
    await world.settle()
    await cancelBatch(world.engine, order(batchId))
    await world.settle()
    await world.pass(30 * DAY * 60)
    assert.deepEqual(mails(world, 1), [])
  }))

it('who failed is corrected once the member is active again', () =>
  story({}, async (world) => {
    const batchId = await toldWave(world, [person('ada')])
    world.answer = ({ functionName }) =>
      functionName === 'sync' ? { fail: 'no licence' } : { ok: true }
    await world.pass(7 * DAY * 60)
    await redate(world, batchId, 30)
    await world.settle()
    assert.deepEqual(mails(world, 1), [])
    world.answer = () => ({ ok: true })
    await retryMembers(world.engine, { ...order(batchId), memberIds: [await firstMember(world)] })
    await world.settle()
    assert.deepEqual(mails(world, 1), ['ada moved en'])
    await world.pass(60)
    assert.equal(mails(world).length, 2)
  }))

it('who moves away and back is told what has changed since, and nothing else', () =>
  story({}, async (world) => {
    const from = await toldWave(world, [person('ada'), person('lee')])
    const to = await world.batch('wave', [person('kim')], { startsInMin: 30 * DAY })
    const move = async (fromBatch: number, toBatch: number) => {
      const [ada] = await world.db.query<{ id: number }>(
        `select id from batch_members where batch_id = $1 and key_folded like 'ada%'`,
        [fromBatch],
      )
      const way = { ...order(fromBatch), memberId: ada!.id, toBatchId: toBatch }
      await moveMember(world.engine, way)
    }
    await move(from, to)
    await move(to, from)
    await world.settle()
    await world.pass(60)
    assert.deepEqual(mails(world, 2), [])
    assert.deepEqual(await told(world), ['1 notice *', '1 notice *', '2 notice from 1'])
    await redate(world, from, 20)
    await world.settle()
    assert.deepEqual(mails(world, 2).toSorted(), ['ada moved en', 'lee moved en'])
    // Told of the other batch's date in between, so told again.
    await move(from, to)
    await world.settle()
    await move(to, from)
    await world.settle()
    assert.deepEqual(mails(world, 4), ['ada moved en', 'ada moved en'])
    assert.deepEqual(bodies(world, 4), [
      'Not Sunday, 22 March 2026 but Wednesday, 1 April 2026',
      'Not Wednesday, 1 April 2026 but Sunday, 22 March 2026',
    ])
  }))

it('who moves while a correction waits is told the date of the new batch', () =>
  story({}, async (world) => {
    const from = await toldWave(world, [person('ada'), person('lee')])
    const to = await world.batch('wave', [person('kim')], { startsInMin: 30 * DAY })
    await holdBatch(world.engine, order(from))
    await redate(world, from, 20)
    await world.settle()
    const way = { ...order(from), memberId: await firstMember(world), toBatchId: to }
    await moveMember(world.engine, way)
    await world.settle()
    assert.deepEqual(mails(world, 2), ['ada moved en'])
    assert.deepEqual(bodies(world, 2), ['Not Monday, 16 March 2026 but Wednesday, 1 April 2026'])
  }))

it('of two messages that told the date, the last one names the correction', () =>
  story({}, async (world) => {
    const other = `
    last-call:
      correction: not-now
      texts: { en: { subject: "Soon", body: "{{_start_date}}" } }
    not-now:
      texts: { en: { subject: "Not now", body: "Not {{_former_date}} but {{_start_date}}" } }`
    const yaml = wave().replace(/(name: remind, .*?message: )notice/, '$1last-call')
    const at = yaml.indexOf('    moved:')
    const batchId = await toldWave(
      world,
      undefined,
      `${yaml.slice(0, at)}${other.trimStart().replace(/^/, '    ')}\n${yaml.slice(at)}`,
    )
    await world.pass(11 * DAY * 60)
    assert.deepEqual(mails(world), ['ada notice en', 'ada last-call en'])
    await redate(world, batchId, 20)
    await world.settle()
    assert.deepEqual(mails(world, 2), ['ada not-now en'])
    // And back, after it was sent: another one.
    await world.pass(60)
    await redate(world, batchId, 14)
    await world.settle()
    assert.deepEqual(mails(world, 3), ['ada not-now en'])
    assert.deepEqual(bodies(world, 3), ['Not Sunday, 22 March 2026 but Monday, 16 March 2026'])
    // And there again: the same words as the first time, and yet another message. A mailbox that has the first one must send it.
    await world.pass(60)
    await redate(world, batchId, 20)
    await world.settle()
    assert.deepEqual(bodies(world, 4), ['Not Monday, 16 March 2026 but Sunday, 22 March 2026'])
    const ids = mailsOf(world.jobs).map(({ parameters }) => parameters.MessageId)
    assert.equal(new Set(ids).size, 5)
  }))
