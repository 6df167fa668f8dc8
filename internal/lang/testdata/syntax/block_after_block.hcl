locals {
} locals {
}
