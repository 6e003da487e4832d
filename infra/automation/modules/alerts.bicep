// The rules of infra/monitoring/alerts.yaml over Application Insights, to which each process sends its metrics, and the workbook. A rule
// that pages has severity 1, one for the next day 3. Test: test/house/monitoring.test.ts.
param name string
param location string
param insightsId string
param emails string[]
param tags object

// The highest value of each label in the time of the rule.
func highest(metric string, label string, above int) string => 'customMetrics | where name == "${metric}" | summarize value = max(valueMax) by label = tostring(customDimensions.${label}) | where value > ${above}'

// What has been so all the time of the rule: its first row is as old as that, and none is lower.
func lasting(metric string, label string, minutes int) string => 'customMetrics | where name == "${metric}" | summarize value = min(valueMin), since = min(timestamp) by label = tostring(customDimensions.${label}) | where value > 0 and since < ago(${minutes - 5}m)'

// A rule fires when its query finds a row.
var rules = [
  { name: 'MatoolkitPhaseLate', page: true, about: 'A due phase has not started', minutes: 5, query: '${highest('matoolkit_late_seconds', 'timer', 60)} | where label == "phase"' }
  { name: 'MatoolkitTimersLate', page: true, about: 'A retry, poll or job is late', minutes: 5, query: '${highest('matoolkit_late_seconds', 'timer', 120)} | where label != "phase"' }
  { name: 'MatoolkitQueueOld', page: true, about: 'The oldest message of a topic waits', minutes: 5, query: highest('matoolkit_oldest_message_seconds', 'topic', 300) }
  { name: 'MatoolkitOutboxOld', page: true, about: 'Messages wait to go to Service Bus', minutes: 5, query: highest('matoolkit_outbox_oldest_seconds', 'topic', 60) }
  { name: 'MatoolkitDeadLetters', page: true, about: 'Dead letters wait for a person', minutes: 5, query: highest('matoolkit_dead_letters', 'topic', 0) }
  { name: 'MatoolkitWorkerSilent', page: true, about: 'Steps wait for a worker that does not come', minutes: 5, query: highest('matoolkit_no_worker_steps', 'worker', 0) }
  { name: 'MatoolkitUnreachable', page: true, about: 'No process reaches the database or the bus', minutes: 5, query: 'customMetrics | where name == "matoolkit_reachable" | summarize value = max(valueMax) by label = tostring(customDimensions.part) | where value < 1' }
  // A summary without a label has a row even when there is nothing to sum up. What is sent can be asked for after some minutes.
  { name: 'MatoolkitAbsent', page: true, about: 'Nothing has sent a metric for ten minutes', minutes: 10, query: 'customMetrics | where name == "matoolkit_reachable" | summarize rows = count() | where rows == 0' }
  { name: 'MatoolkitTickOld', page: false, about: 'A source was not read', minutes: 5, query: highest('matoolkit_tick_age_seconds', 'runbook', 1800) }
  { name: 'MatoolkitWaitsForPeople', page: false, about: 'Something waits for a person', minutes: 15, query: lasting('matoolkit_waiting_for_people', 'kind', 15) }
  { name: 'MatoolkitHeld', page: false, about: 'Something is held', minutes: 30, query: lasting('matoolkit_held', 'scope', 30) }
  { name: 'MatoolkitJobsFail', page: false, about: 'More than a fifth of the jobs of a function fail', minutes: 15, query: 'customMetrics | where name == "matoolkit_job_seconds" | summarize failed = sumif(valueCount, tostring(customDimensions.status) == "Failure"), jobs = sum(valueCount) by label = tostring(customDimensions.function) | where failed * 5 > jobs' }
  { name: 'MatoolkitThrottled', page: false, about: 'A service makes a worker wait for more than half of the time', minutes: 15, query: 'customMetrics | where name == "matoolkit_throttled_seconds_total" | summarize seconds = sum(valueSum) by worker = tostring(customDimensions.worker), service = tostring(customDimensions.service) | where seconds > 450' }
  { name: 'MatoolkitErrors', page: false, about: 'A role survives many errors', minutes: 10, query: 'customMetrics | where name == "matoolkit_errors_total" | summarize errors = sum(valueSum) by label = tostring(customDimensions.role) | where errors > 10' }
]

resource team 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(emails)) {
  name: '${name}-team'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: take(name, 12)
    enabled: true
    emailReceivers: [
      for (email, index) in emails: { name: 'mail-${index}', emailAddress: email, useCommonAlertSchema: true }
    ]
  }
}

resource alert 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for entry in rules: {
    name: '${name}-${entry.name}'
    location: location
    kind: 'LogAlert'
    tags: tags
    properties: {
      displayName: entry.name
      description: entry.about
      severity: entry.page ? 1 : 3
      enabled: true
      autoMitigate: true
      scopes: [insightsId]
      evaluationFrequency: 'PT5M'
      windowSize: 'PT${entry.minutes}M'
      criteria: {
        allOf: [
          {
            query: entry.query
            timeAggregation: 'Count'
            operator: 'GreaterThan'
            threshold: 0
            failingPeriods: { numberOfEvaluationPeriods: 1, minFailingPeriodsToAlert: 1 }
          }
        ]
      }
      actions: empty(emails) ? {} : { actionGroups: [team.id] }
    }
  }
]

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(insightsId, 'matoolkit')
  location: location
  kind: 'shared'
  tags: tags
  properties: {
    displayName: name
    category: 'workbook'
    sourceId: insightsId
    serializedData: replace(loadTextContent('../../monitoring/workbook.json'), '"fallbackResourceIds": []', '"fallbackResourceIds": ["${insightsId}"]')
  }
}
