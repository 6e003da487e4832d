// The generated parts of docs/sandbox.md: every call the sandbox supports, from its own tables.
// `npm run docs` writes them, test/house/docs-sandbox.test.ts compares them.
import { CONTROL_ROUTES } from '../sandbox/control.ts'
import { CMDLETS } from '../sandbox/exchange/cmdlets.ts'
import { GRAPH_ROUTES } from '../sandbox/graph/routes.ts'
import { FAST_TIMING, type Timing, USUAL_TIMING } from '../sandbox/world.ts'
import { type GeneratedDocument, markdownTable } from './docs.ts'

export const SANDBOX_DOCUMENTS: readonly GeneratedDocument[] = [
  { file: 'docs/sandbox.md', section: 'graph', render: renderGraph },
  { file: 'docs/sandbox.md', section: 'cmdlets', render: renderCmdlets },
  { file: 'docs/sandbox.md', section: 'control', render: renderControl },
  { file: 'docs/sandbox.md', section: 'timing', render: renderTiming },
]

function renderGraph(): string {
  const rows = GRAPH_ROUTES.map(({ method, path, isBeta, permissions, about }) => [
    method,
    `\`${path}\`${isBeta ? ' (beta only)' : ''}`,
    permissions[0] ? `\`${permissions[0]}\`` : '–',
    about,
  ])
  return markdownTable(['Method', 'Path', 'Permission', 'Rules'], rows)
}

function renderCmdlets(): string {
  const rows = Object.entries(CMDLETS).map(([name, { parameters, isAdministrators, about }]) => [
    `\`${name}\``,
    parameters.map((one) => `\`${one}\``).join(', ') || '–',
    isAdministrators ? 'Exchange Administrator' : 'Exchange Recipient Administrator',
    about,
  ])
  return markdownTable(['Cmdlet', 'Parameters', 'Role', 'Rules'], rows)
}

function renderControl(): string {
  const rows = CONTROL_ROUTES.map(({ method, path, about }) => [method, `\`${path}\``, about])
  return markdownTable(['Method', 'Path', 'What it does'], rows)
}

const TIMING_MEANINGS: Readonly<Record<keyof Timing, string>> = {
  replicationLagSec: 'until reads find a new user',
  exchangeLagSec: 'until Exchange knows a new recipient',
  tokenLifetimeSec: 'until a token expires',
  acceptanceSec: 'until an invited person accepts',
  mailboxMoveSyncSec: 'until a mailbox is synced, ± 50 %',
  mailboxMoveCompleteSec: 'until a mailbox move completes',
  mailboxMoveStopSec: 'until a mailbox move has stopped, or is gone once removed',
}

function renderTiming(): string {
  const rows = Object.entries(TIMING_MEANINGS).map(([name, meaning]) => [
    `\`${name}\``,
    meaning,
    USUAL_TIMING[name as keyof Timing],
    FAST_TIMING[name as keyof Timing],
  ])
  return markdownTable(['Name', 'Seconds', 'Usual', '`--fast`'], rows)
}
