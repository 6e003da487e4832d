// The report of a rehearsal as one HTML page: no scripts, no external resources, charts as inline SVG, all text escaped. A lead can mail
// it. Accessible: captions and headings, every chart has its figures in a table, no meaning by colour alone.

import { countText } from '../../base/text/count-text.ts'
import { durationText } from '../../base/text/duration.ts'
import { type Html, html, htmlText } from '../../base/text/markup.ts'
import { fullTimeText } from '../../base/text/zoned-time.ts'
import { textOfHtml } from '../../domain/member-messages/shown-html.ts'
import { PERSON_STATES, stateWord } from '../../domain/state/person-state.ts'
import { messageNotes } from './messages.ts'
import { type RehearsalReport, resultText, type TimelinePhase, type Verdict } from './report.ts'

const MOODS: Readonly<Record<Verdict, string>> = {
  ready: 'good',
  'ready with warnings': 'fair',
  'not ready': 'bad',
}
const OPERATIONS_SHOWN = 15
const PEOPLE_SHOWN = 50

export function rehearsalPage(report: RehearsalReport, zone: string): string {
  const title = `Rehearsal of ${report.runbook}`
  const { startedAt, endedAt } = report
  const days = durationText(Date.parse(endedAt) - Date.parse(startedAt))
  const when = fullTimeText(new Date(startedAt), zone)
  return htmlText(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<header>
<p class="kicker">Dress rehearsal</p>
<h1>${title}</h1>
<p class="verdict ${MOODS[report.verdict]}">${capital(report.verdict)}</p>
${report.faults.length > 0 ? html`<p>With the faults ${report.faults.join(', ')}.</p>` : null}
<p>${days} from ${when}, rehearsed on simulated tenants. Seed ${report.seed}, ${countText(report.slots, 'slot')} per worker.</p>
</header>
<main>
${summaryOf(report)}
${listOf('Why it is not ready', report.reasons)}
${listOf('Warnings', report.warnings)}
${listOf(
  'Faults',
  report.events.map(({ at, what }) => `${fullTimeText(new Date(at), zone)}: ${what}`),
)}
${timelineOf(report.timeline, zone)}
${failuresOf(report)}
${rollbacksOf(report)}
${undoOf(report)}
${notificationsOf(report, zone)}
${messagesOf(report, zone)}
${callsOf(report, zone)}
${tableOf(
  'Steps that never ran',
  ['Where', 'Step'],
  report.neverRan.map(({ where, step }) => [where, step]),
)}
${tenantsOf(report)}
</main>
</body>
</html>
`)
}

const capital = (text: string): string => text[0]!.toUpperCase() + text.slice(1)
const timeText = (sec: number | null): string => (sec === null ? '–' : durationText(sec * 1_000))

function summaryOf({ members, batches, calls }: RehearsalReport): Html {
  const figures: (readonly [number, string])[] = [
    [members.total, members.total === 1 ? 'member' : 'members'],
    ...PERSON_STATES.map((state) => [members[state], stateWord(state)] as const),
    [batches.length, batches.length === 1 ? 'batch' : 'batches'],
    [calls.total, 'calls'],
  ]
  return html`<ul class="figures">${figures.map(
    ([count, word]) => html`<li><b>${count.toLocaleString('en')}</b> ${word}</li>`,
  )}</ul>`
}

function listOf(title: string, sentences: readonly string[]): Html {
  if (sentences.length === 0) return html``
  return html`<section><h2>${title}</h2><ul>${sentences.map((one) => html`<li>${one}</li>`)}</ul></section>`
}

function tableOf(
  title: string,
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): Html {
  if (rows.length === 0) return html``
  const cell = (value: string | number) =>
    typeof value === 'number' ? html`<td class="n">${value}</td>` : html`<td>${value}</td>`
  const head = (name: string, at: number) =>
    typeof rows[0]![at] === 'number'
      ? html`<th scope="col" class="n">${name}</th>`
      : html`<th scope="col">${name}</th>`
  return html`<section><h2>${title}</h2><div class="wide" tabindex="0" role="region" aria-label="${title}"><table>
<thead><tr>${header.map(head)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map(cell)}</tr>`)}</tbody>
</table></div></section>`
}

// --- Timeline ------------------------------------------------------------------------------------

function timelineOf(timeline: readonly TimelinePhase[], zone: string): Html {
  const rows = timeline.map((one) => [
    one.batchId,
    one.phase,
    one.dueAt === null ? '–' : fullTimeText(new Date(one.dueAt), zone),
    one.members,
    one.failed,
    ...[one.p50Sec, one.p95Sec, one.worstSec, one.gapSec, one.tenTimesSec].map(timeText),
    timeText(one.windowWaitSec || null),
    resultText(one),
  ])
  const header = ['Batch', 'Phase', 'Due', 'Members', 'Failed', 'Half within', '95 of 100 within']
  const more = [
    'Slowest',
    'Until the next phase',
    'Slowest with 10× members',
    'Waited for the change window',
    'Result',
  ]
  return html`${tableOf('Timeline', [...header, ...more], rows)}${phaseChart(timeline)}`
}

const BAR_PX = 26
const CHART_PX = 640
const NAME_PX = 180
const SHARE_PX = 170
const NAME_CHARS = 22
/** A mailed page of a whole programme stays readable; the table has them all. */
const PHASES_DRAWN = 40

/** How long the slowest member, and half of them, needed in each phase. */
function phaseChart(timeline: readonly TimelinePhase[]): Html {
  const phases = timeline.filter(({ worstSec }) => worstSec !== null).slice(0, PHASES_DRAWN)
  const longest = Math.max(1, ...phases.map(({ worstSec }) => worstSec!))
  if (phases.length === 0) return html``
  const barOf = (sec: number) =>
    Math.max(2, Math.round((sec / longest) * (CHART_PX - NAME_PX - SHARE_PX)))
  return html`<figure><figcaption>The time of the slowest member in each phase; the darker part is half of the members.</figcaption>
<svg role="img" aria-label="Time of the slowest member by phase. The table above has the figures." viewBox="0 0 ${CHART_PX} ${phases.length * BAR_PX + 4}" width="${CHART_PX}">
${phases.map((one, at) => {
  const y = at * BAR_PX + 4
  const worst = barOf(one.worstSec!)
  const half = Math.min(barOf(one.p50Sec ?? 0), worst)
  return html`<text x="0" y="${y + 14}">${one.batchId} ${one.phase.slice(0, NAME_CHARS)}</text><rect class="${one.isLate ? 'late' : 'worst'}" x="${NAME_PX}" y="${y}" width="${worst}" height="18"/><rect class="half" x="${NAME_PX}" y="${y}" width="${half}" height="18"/><text x="${NAME_PX + worst + 6}" y="${y + 14}">${shareText(one)}</text>`
})}
</svg></figure>`
}

function shareText({ worstSec, gapSec }: TimelinePhase): string {
  if (gapSec === null) return timeText(worstSec)
  const percent = (100 * worstSec!) / gapSec
  const share = percent < 1 ? 'below 1' : String(Math.round(percent))
  return `${timeText(worstSec)}, ${share} % of ${timeText(gapSec)}`
}

// --- Failures, rollbacks, calls ------------------------------------------------------------------

function failuresOf({ failures }: RehearsalReport): Html {
  return tableOf(
    'Who would have failed, and why',
    ['Members', 'Where', 'Message', 'What to do', 'For example'],
    failures.map(({ count, kind, phase, step, message, remedy, people }) => [
      count,
      `${step} of ${phase === null ? kind : `phase ${phase}`}`,
      message,
      remedy ?? '',
      people.join(', '),
    ]),
  )
}

function rollbacksOf({ rollbacks: { ran, notRestored } }: RehearsalReport): Html {
  if (ran === 0) return html``
  const text = `${countText(ran, 'rollback')} ran, ${ran - notRestored.length} restored the tenant.`
  const rows = notRestored
    .slice(0, PEOPLE_SHOWN)
    .map((one) => [
      one.member,
      `${one.failedStep} of phase ${one.phase}`,
      one.differences.join(' '),
    ])
  const header = ['Member', 'After', 'What differs from before']
  return html`<section><h2>Rollbacks</h2><p>${text}</p></section>${tableOf('Rollbacks that did not restore the tenant', header, rows)}`
}

function undoOf({ staysAfterUndo }: RehearsalReport): Html {
  return tableOf(
    'What an undo would leave',
    ['Where', 'Times', 'Why'],
    staysAfterUndo.map(({ phase, step, why, isPointOfNoReturn, count }) => [
      phase === null ? `init step ${step}` : `${step} of phase ${phase}`,
      count,
      isPointOfNoReturn ? `${why} The point of no return.` : why,
    ]),
  )
}

function messagesOf({ messages }: RehearsalReport, zone: string): Html {
  const { sent, examples } = messages
  const at = (time: string) => fullTimeText(new Date(time), zone)
  return html`${tableOf(
    'Messages to people',
    ['Phase', 'Step', 'Message', 'Language', 'Sent', 'Corrections', 'First', 'Last'],
    sent.map((one) => [
      one.phase ?? '–',
      one.step,
      one.message,
      one.language,
      one.sent,
      one.corrections,
      at(one.firstAt),
      at(one.lastAt),
    ]),
  )}${listOf('About the messages', messageNotes(messages))}${tableOf(
    'The first of each message',
    ['Message', 'Language', 'To', 'Subject', 'Text'],
    examples.map(({ message, language, member, to, subject, body, isHtml }) => [
      message,
      language,
      `${member} (${to})`,
      subject,
      isHtml ? textOfHtml(body) : body,
    ]),
  )}`
}

function callsOf({ calls: { services, operations } }: RehearsalReport, zone: string): Html {
  const most = Math.max(1, ...operations.map(({ calls }) => calls))
  const shown = operations.slice(0, OPERATIONS_SHOWN)
  const width = (calls: number) => Math.max(2, Math.round((calls / most) * (CHART_PX - 400)))
  const chart =
    shown.length === 0
      ? html``
      : html`<figure><figcaption>The most frequent calls.</figcaption>
<svg role="img" aria-label="The most frequent calls and how often they were made. The table below has the figures." viewBox="0 0 ${CHART_PX} ${shown.length * BAR_PX + 4}" width="${CHART_PX}">
${shown.map(({ operation, calls }, at) => {
  const y = at * BAR_PX + 4
  return html`<text x="0" y="${y + 14}">${operation.slice(0, 44)}</text><rect class="half" x="330" y="${y}" width="${width(calls)}" height="18"/><text x="${336 + width(calls)}" y="${y + 14}">${calls}</text>`
})}
</svg></figure>`
  return html`${tableOf(
    'Calls to Microsoft 365',
    ['API', 'Calls', 'Most in a second', 'At', 'Times throttled', 'Time throttled'],
    services.map((one) => [
      one.service,
      one.calls,
      one.peakPerSec,
      one.peakAt === null ? '–' : fullTimeText(new Date(one.peakAt), zone),
      one.throttled,
      timeText(one.throttledSec),
    ]),
  )}${chart}${tableOf(
    'The most frequent calls',
    ['API', 'Call', 'Calls'],
    shown.map(({ service, operation, calls }) => [service, operation, calls]),
  )}`
}

function tenantsOf({ tenants, assumptions }: RehearsalReport): Html {
  const table = tableOf(
    'Tenants at the start',
    ['Tenant', 'Domains', 'Users', 'Groups'],
    tenants.map(({ name, domains, users, groups }) => [name, domains.join(', '), users, groups]),
  )
  return html`${table}${listOf('Assumptions', assumptions)}`
}

const MESSAGES_SHOWN = 50

function notificationsOf({ notifications }: RehearsalReport, zone: string): Html {
  const { conditions, channels, messages, hasSettings } = notifications
  if (conditions.length === 0) return html``
  const time = (at: string) => fullTimeText(new Date(at), zone)
  const rules = hasSettings ? 'the runbook and the settings' : 'the runbook'
  const kinds = tableOf(
    'Which channels would have been told',
    ['Condition', 'Times', 'Cleared', 'First', 'For example', 'Channels'],
    conditions.map((one) => [
      one.kind,
      one.opened,
      one.cleared === null ? '–' : String(one.cleared),
      time(one.firstAt),
      one.example,
      one.channels.join(', ') || 'nobody',
    ]),
  )
  const byChannel = tableOf(
    'Messages by channel',
    ['Channel', 'Messages', 'First', 'Last'],
    channels.map(({ channel, messages: count, firstAt, lastAt }) => [
      channel,
      count,
      time(firstAt),
      time(lastAt),
    ]),
  )
  const first = tableOf(
    'The first messages',
    ['When', 'Channel', 'Says'],
    messages
      .slice(0, MESSAGES_SHOWN)
      .map(({ dueAt, channel, says }) => [time(dueAt), channel, says.join('; ')]),
  )
  return html`${kinds}<p>By the rules of ${rules}. Nothing was sent.</p>${byChannel}${first}`
}

const STYLE = `
body{font:16px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#fff;max-width:70rem;margin:2rem auto;padding:0 1rem}
h1{margin:.2rem 0}h2{margin:2rem 0 .5rem;font-size:1.2rem}.kicker{margin:0;color:#555}
.verdict{display:inline-block;font-size:1.3rem;font-weight:700;padding:.3rem .9rem;border:2px solid;border-radius:.4rem}
.good{color:#0b5d1e;background:#e9f7ec}.fair{color:#6b4a00;background:#fff6dd}.bad{color:#8f1111;background:#fdeaea}
.figures{display:flex;flex-wrap:wrap;gap:1.5rem;list-style:none;padding:0}.figures b{display:block;font-size:1.6rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #ccc}
th{background:#f3f3f3}th.n,.n{text-align:right}td:last-child{min-width:5rem}figure{margin:1rem 0}figcaption{color:#555}
svg{max-width:100%;height:auto}svg text{font:13px system-ui,sans-serif;fill:#1a1a1a}.worst{fill:#9dbbe0}.half{fill:#2f5f9e}.late{fill:#c94a4a}
@media print{body{margin:0}thead{display:table-header-group}}
`
