/** The resources of main.tf, which are made of its locals. */

import { type AwsPlan, batchSize, batchWindowS, deadLettersRetentionS, retentionS } from './plan.ts';
import { tableProperties } from './table.ts';

export const queueBlocks = `
resource "aws_sqs_queue" "of" {
  for_each                   = local.queues
  name                       = "\${local.prefix}\${each.key}"
  fifo_queue                 = each.value.fifo
  sqs_managed_sse_enabled    = true
  visibility_timeout_seconds = each.value.visibility_s
  message_retention_seconds  = ${retentionS}
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letters[each.value.dead_letters].arn
    maxReceiveCount     = each.value.max_receives
  })
  lifecycle { prevent_destroy = true }
}

resource "aws_sqs_queue" "dead_letters" {
  for_each                  = local.dead_letters
  name                      = "\${local.prefix}\${each.key}"
  fifo_queue                = each.value.fifo
  sqs_managed_sse_enabled   = true
  message_retention_seconds = ${deadLettersRetentionS}
  lifecycle { prevent_destroy = true }
}

resource "aws_sqs_queue_redrive_allow_policy" "of" {
  for_each  = local.dead_letters
  queue_url = aws_sqs_queue.dead_letters[each.key].id
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [for name in each.value.from : aws_sqs_queue.of[name].arn]
  })
}`;

const [index] = tableProperties.GlobalSecondaryIndexes;
export const table = `
# Keys, records and workers, as dynamoStore() expects them.
resource "aws_dynamodb_table" "jobs" {
  name         = "\${local.prefix}jobs"
  billing_mode = "${tableProperties.BillingMode}"
  hash_key     = "${tableProperties.KeySchema[0].AttributeName}"
${tableProperties.AttributeDefinitions.map(({ AttributeName, AttributeType }) => `  attribute {\n    name = "${AttributeName}"\n    type = "${AttributeType}"\n  }`).join('\n')}
  global_secondary_index {
    name               = "${index.IndexName}"
    hash_key           = "${index.KeySchema[0].AttributeName}"
    range_key          = "${index.KeySchema[1].AttributeName}"
    projection_type    = "${index.Projection.ProjectionType}"
    non_key_attributes = ${JSON.stringify(index.Projection.NonKeyAttributes).replaceAll(',', ', ')}
  }
  ttl {
    attribute_name = "${tableProperties.TimeToLiveSpecification.AttributeName}"
    enabled        = true
  }
  point_in_time_recovery { enabled = true }
  lifecycle { prevent_destroy = true }
}`;

export const buckets = `
resource "aws_s3_bucket" "of" {
  for_each = toset(local.buckets)
  bucket   = "\${local.prefix}\${each.key}-\${data.aws_caller_identity.current.account_id}"
  lifecycle { prevent_destroy = true }
}

resource "aws_s3_bucket_public_access_block" "of" {
  for_each                = aws_s3_bucket.of
  bucket                  = each.value.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}`;

export const functionBlocks = ({ installed }: AwsPlan): string => `
data "archive_file" "functions" {
  type        = "zip"
  source_dir  = "\${path.module}/dist/functions"
  output_path = "\${path.module}/dist/functions.zip"${installed.length > 0 ? '\n  # With node_modules: run npm install --prefix dist/functions --os=linux --cpu=arm64 --libc=glibc before.' : ''}
}

resource "aws_cloudwatch_log_group" "of" {
  for_each          = local.functions
  name              = "/aws/lambda/\${local.prefix}\${each.key}"
  retention_in_days = 30
}

resource "aws_iam_role" "of" {
  for_each = local.functions
  name     = "\${local.prefix}\${each.key}"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy" "of" {
  for_each = local.functions
  name     = each.key
  role     = aws_iam_role.of[each.key].id
  policy   = jsonencode({ Version = "2012-10-17", Statement = each.value.allow })
}

resource "aws_lambda_function" "of" {
  for_each                       = local.functions
  function_name                  = "\${local.prefix}\${each.key}"
  role                           = aws_iam_role.of[each.key].arn
  handler                        = each.value.handler
  runtime                        = "nodejs24.x"
  architectures                  = ["arm64"]
  memory_size                    = 512
  timeout                        = each.value.timeout_s
  reserved_concurrent_executions = each.value.reserved
  filename                       = data.archive_file.functions.output_path
  source_code_hash               = data.archive_file.functions.output_base64sha256
  environment { variables = merge(local.common, each.value.environment) }
  depends_on = [aws_cloudwatch_log_group.of, aws_iam_role_policy.of]
}

# A job may enqueue the next one, and that the next: Lambda would stop them after some 16.
resource "aws_lambda_function_recursion_config" "of" {
  for_each       = toset([for queue in local.queues : queue.worker])
  function_name  = aws_lambda_function.of[each.key].function_name
  recursive_loop = "Allow"
}

resource "aws_lambda_event_source_mapping" "of" {
  for_each                           = local.queues
  event_source_arn                   = aws_sqs_queue.of[each.key].arn
  function_name                      = aws_lambda_function.of[each.value.worker].arn
  batch_size                         = ${batchSize}
  maximum_batching_window_in_seconds = each.value.fifo ? null : ${batchWindowS}
  function_response_types            = ["ReportBatchItemFailures"]
  scaling_config { maximum_concurrency = each.value.concurrency }
}`;

export const schedule = `
resource "aws_scheduler_schedule_group" "of" {
  name = "\${local.prefix}schedules"
}

# EventBridge Scheduler may call only the schedule function, and only for schedules of this stage.
resource "aws_iam_role" "scheduler" {
  name = "\${local.prefix}scheduler"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "scheduler.amazonaws.com" }
      Condition = { StringEquals = {
        "aws:SourceAccount" = data.aws_caller_identity.current.account_id
        "aws:SourceArn"     = aws_scheduler_schedule_group.of.arn
      } }
    }]
  })
}

resource "aws_iam_role_policy" "scheduler" {
  name = "schedule"
  role = aws_iam_role.scheduler.id
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "lambda:InvokeFunction", Resource = aws_lambda_function.of["schedule"].arn }]
  })
}

resource "aws_scheduler_schedule" "minute" {
  name                = "\${local.prefix}minute"
  group_name          = aws_scheduler_schedule_group.of.name
  schedule_expression = "rate(1 minute)"
  flexible_time_window { mode = "OFF" }
  target {
    arn      = aws_lambda_function.of["schedule"].arn
    role_arn = aws_iam_role.scheduler.arn
  }
}`;

export const http = `
resource "aws_apigatewayv2_api" "http" {
  name          = "\${local.prefix}http"
  protocol_type = "HTTP"
}

resource "aws_apigatewayv2_integration" "enqueue" {
  api_id                 = aws_apigatewayv2_api.http.id
  integration_type       = "AWS_PROXY"
  integration_uri        = aws_lambda_function.of["enqueue"].invoke_arn
  payload_format_version = "2.0"
}

resource "aws_apigatewayv2_route" "enqueue" {
  api_id    = aws_apigatewayv2_api.http.id
  route_key = "$default"
  target    = "integrations/\${aws_apigatewayv2_integration.enqueue.id}"
}

resource "aws_apigatewayv2_stage" "http" {
  api_id      = aws_apigatewayv2_api.http.id
  name        = "$default"
  auto_deploy = true
  default_route_settings {
    throttling_rate_limit  = 50
    throttling_burst_limit = 100
  }
}

resource "aws_lambda_permission" "http" {
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.of["enqueue"].function_name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "\${aws_apigatewayv2_api.http.execution_arn}/*"
}

output "url" {
  value = aws_apigatewayv2_api.http.api_endpoint
}`;

export const alarms = `
# Subscribe to the topic: until then it notifies no person.
resource "aws_sns_topic" "alarms" {
  name = "\${local.prefix}alarms"
}

resource "aws_cloudwatch_metric_alarm" "of" {
  for_each            = local.alarms
  alarm_name          = "\${local.prefix}\${each.key}"
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  statistic           = each.value.statistic
  dimensions          = each.value.dimensions
  comparison_operator = each.value.below ? "LessThanThreshold" : "GreaterThanThreshold"
  threshold           = each.value.threshold
  period              = 60
  evaluation_periods  = each.value.minutes
  treat_missing_data  = each.value.below ? "breaching" : "notBreaching"
  alarm_actions       = [aws_sns_topic.alarms.arn]
  ok_actions          = [aws_sns_topic.alarms.arn]
}`;
