// The starter runbook of Microsoft 365 and its people, as text.
import type { RunbookStarter, StarterFacts } from '../domain/runbook/starter.ts'

function starterMembers({ from, to, start }: StarterFacts): string {
  const rows = [
    ['ada.adler', 'Ada Adler', 'Sales'],
    ['ben.brand', 'Ben Brand', 'Finance'],
  ].map(([nick, name, department]) =>
    [`${nick}@${from}`, name, department, nick, `${nick}@${to}`, start].join(','),
  )
  const header = 'UserPrincipalName,DisplayName,Department,MailNickname,TargetUpn,CutoverTime'
  return `${[header, ...rows].join('\n')}\n`
}

/** `contoso.com` is served by `contoso-worker`. */
const workerOf = (domain: string): string => `${domain.split('.')[0]!.toLowerCase()}-worker`

function starterRunbook({ name, from, to, noticeFrom }: StarterFacts): string {
  return `# Moves people from ${from} to ${to}. Check it with "matoolkit runbook validate ${name}.runbook.yaml", rehearse it with
# "matoolkit runbook rehearse ${name}.runbook.yaml", then publish it. docs/runbook.md explains every key, docs/reference/functions.md every function.
name: "${name}"
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

${phasesOf(workerOf(to), from, noticeFrom === null ? '' : noticeOf(workerOf(to), noticeFrom))}
${undoingOf(workerOf(to))}`
}

const phasesOf = (worker: string, from: string, notice: string): string => `phases:
  # A week before, so that problems show early. The account is disabled until the cut-over.
  - name: prepare
    offset: T-7d
    steps:
      # Account and mail user in one call: an account without mail could never receive a mailbox from ${from}.
      - name: create-account
        worker_id: ${worker}
        function: New-ExchangeMailUser
        params:
          DisplayName: "{{DisplayName}}"
          UserPrincipalName: "{{TargetUpn}}"
          Alias: "{{MailNickname}}"
          PrimarySmtpAddress: "{{TargetUpn}}"
          # Until the mailbox moves, mail goes to the person's present address.
          ExternalEmailAddress: "{{UserPrincipalName}}"
        # Later steps use the account's id as {{AccountId}}.
        output_params:
          AccountId: Id

      - name: keep-account-closed
        worker_id: ${worker}
        function: Disable-EntraUser
        params:
          UserId: "{{AccountId}}"

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
      - name: check-address
        worker_id: ${worker}
        function: Test-ExchangeAttributeMatch
        params:
          Identity: "{{AccountId}}"
          AttributeName: PrimarySmtpAddress
          ExpectedValue: "{{TargetUpn}}"
        poll:
          interval: 10m
          timeout: 12h

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
${notice}
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

const noticeOf = (worker: string, sender: string): string => `
      - name: tell-the-person
        worker_id: ${worker}
        function: Send-Notification
        params:
          From: ${sender}
          To: "{{UserPrincipalName}}"
          Subject: Your account moves tomorrow
          Body: "Dear {{DisplayName}}, from {{_batch_start_time}} on, sign in as {{TargetUpn}}."
        # A mail with an unknown outcome is not sent again.
        retry:
          max_retries: 0
`

const undoingOf = (worker: string): string => `# A person leaves the wave: nothing is deleted.
# Without an account of this wave, the name belongs to someone else.
on_member_removed:
  - name: close-account
    worker_id: ${worker}
    when: [{ variable: AccountId, present: true }]
    function: Disable-EntraUser
    params:
      UserId: "{{AccountId}}"

rollbacks:
  close-again:
    - name: close-account
      worker_id: ${worker}
      function: Disable-EntraUser
      params:
        UserId: "{{AccountId}}"
`

export const M365_STARTER: RunbookStarter = { runbook: starterRunbook, members: starterMembers }
