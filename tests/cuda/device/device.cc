// The conformance program on a real device: nothing watches, and powers are the device's own.
namespace oriel::test {

void prepare_device();
void prepare_device() {}

}  // namespace oriel::test
