// `matoolkit runbook init`: writes a commented starter runbook and its member file. Both are valid and can be rehearsed as they are.
import { printable } from '../../../printable.ts'
import { usageError } from '../../command-context.ts'
import { requireReplaceable, writeNewFile } from '../../files.ts'
import type { Io } from '../../terminal/io.ts'

export interface InitFlags {
  readonly from: string
  readonly to: string
  readonly force?: true
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/i
const DOMAIN = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i
/** The first cut-over of the sample people. */
const LEAD_DAYS = 30

export async function initRunbook(name: string, flags: InitFlags, io: Io): Promise<void> {
  if (!NAME.test(name))
    throw usageError(
      `"${name}" is not a valid name. Use at most 63 letters, digits, "-" and "_", starting with a letter or digit.`,
    )
  for (const domain of [flags.from, flags.to])
    if (!DOMAIN.test(domain))
      throw usageError(`"${domain}" is not a domain. Use one such as contoso.com.`)
  const [yaml, csv] = [`${name}.runbook.yaml`, `${name}.csv`]
  const mayReplace = flags.force === true
  for (const file of [yaml, csv]) requireReplaceable(file, mayReplace)
  await writeNewFile(csv, starterMembers(flags, io.now()), mayReplace)
  await writeNewFile(yaml, starterRunbook(name, flags), mayReplace)
  io.out(`Wrote ${printable(yaml)} and ${printable(csv)}.`)
  io.out(`Next: matoolkit runbook rehearse ${printable(yaml)}`)
}

function starterMembers({ from, to }: InitFlags, now: Date): string {
  const day = new Date(+now + LEAD_DAYS * 86_400_000).toISOString().slice(0, 10)
  const rows = [
    ['ada.adler', 'Ada Adler', 'Sales'],
    ['ben.brand', 'Ben Brand', 'Finance'],
  ].map(([nick, name, department]) =>
    [`${nick}@${from}`, name, department, nick, `${nick}@${to}`, `${day}T20:00:00Z`].join(','),
  )
  const header = 'UserPrincipalName,DisplayName,Department,MailNickname,TargetUpn,CutoverTime'
  return `${[header, ...rows].join('\n')}\n`
}

/** `contoso.com` is served by `contoso-worker`. */
const workerOf = (domain: string): string => `${domain.split('.')[0]!.toLowerCase()}-worker`

function starterRunbook(name: string, { from, to }: InitFlags): string {
  return `# Moves people from ${from} to ${to}. Check it with "matoolkit runbook validate ${name}.runbook.yaml", rehearse it with
# "matoolkit runbook rehearse ${name}.runbook.yaml", then publish it. docs/runbook.md explains every key, docs/functions.md every function.
name: ${name}
description: Gives people of ${from} accounts in ${to}.

# Who moves, and when: people with the same CutoverTime form a batch. Other sources: postgres, sqlserver, dataverse, databricks.
data_source:
  type: csv
  path: ${name}.csv
  primary_key: UserPrincipalName
  batch_time_column: CutoverTime
  columns: [UserPrincipalName, DisplayName, Department, MailNickname, TargetUpn, CutoverTime]

# Microsoft 365 is sometimes busy for minutes. A failed step is tried again.
retry:
  max_retries: 4
  interval: 1m
  backoff: exponential
  max_interval: 10m

${phasesOf(workerOf(to))}
${undoingOf(workerOf(to))}`
}

const phasesOf = (worker: string): string => `phases:
  # A week before, so that problems show early. The account is disabled until the cut-over.
  - name: prepare
    offset: T-7d
    steps:
      - name: create-account
        worker_id: ${worker}
        function: New-EntraUser
        params:
          DisplayName: "{{DisplayName}}"
          UserPrincipalName: "{{TargetUpn}}"
          MailNickname: "{{MailNickname}}"
          AccountEnabled: false
        # Later steps use the account's id as {{AccountId}}.
        output_params:
          AccountId: Id

      - name: set-department
        worker_id: ${worker}
        function: Set-EntraUserAttribute
        params:
          UserId: "{{AccountId}}"
          AttributeName: department
          Value: "{{Department}}"

  # The day before: wait until the directory shows everything, and leave a day to hold the batch.
  - name: verify
    offset: T-1d
    steps:
      - name: check-department
        worker_id: ${worker}
        function: Test-EntraAttributeMatch
        params:
          UserId: "{{AccountId}}"
          AttributeName: department
          ExpectedValue: "{{Department}}"
        poll:
          interval: 10m
          timeout: 12h

  - name: cutover
    offset: T-0
    steps:
      - name: open-account
        worker_id: ${worker}
        function: Enable-EntraUser
        params:
          UserId: "{{AccountId}}"
        on_failure: close-again
`

const undoingOf = (worker: string): string => `# Somebody leaves the wave: nothing is deleted.
on_member_removed:
  - name: close-account
    worker_id: ${worker}
    function: Disable-EntraUser
    params:
      UserId: "{{TargetUpn}}"

rollbacks:
  close-again:
    - name: close-account
      worker_id: ${worker}
      function: Disable-EntraUser
      params:
        UserId: "{{AccountId}}"
`
