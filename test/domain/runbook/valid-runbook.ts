// A valid runbook, which cases edit.
export const VALID = `name: wave
data_source:
  type: postgres
  connection: MATOOLKIT_SOURCE_PEOPLE
  query: select
  primary_key: Upn
  batch_time: immediate
  columns: [Upn, Name]
phases:
  - name: cutover
    offset: T-0
    steps:
      - name: first
        worker_id: worker-1
        function: Do-It
        params: {A: "{{Upn}}"}
`
